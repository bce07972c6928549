package io.github.libsampler;

/** An argument breaks a rule of its documentation. No output was written. */
public final class InvalidArgumentException extends SamplerException {
  private static final long serialVersionUID = 1L;

  InvalidArgumentException(String message) {
    super(Status.INVALID_ARGUMENT, message);
  }
}
