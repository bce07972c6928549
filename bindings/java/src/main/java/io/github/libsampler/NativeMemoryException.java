package io.github.libsampler;

/** There was no memory outside the Java heap for a sampler. */
public final class NativeMemoryException extends SamplerException {
  private static final long serialVersionUID = 1L;

  NativeMemoryException(String message) {
    super(Status.OUT_OF_MEMORY, message);
  }
}
