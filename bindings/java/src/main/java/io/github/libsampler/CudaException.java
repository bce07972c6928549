package io.github.libsampler;

/** CUDA reported an error. The outputs are undefined. */
public final class CudaException extends SamplerException {
  private static final long serialVersionUID = 1L;

  CudaException(String message) {
    super(Status.CUDA, message);
  }
}
