package io.github.libsampler;

/** The arguments are valid, but this build or device does not offer what they ask for. */
public final class UnsupportedException extends SamplerException {
  private static final long serialVersionUID = 1L;

  UnsupportedException(String message) {
    super(Status.UNSUPPORTED, message);
  }
}
