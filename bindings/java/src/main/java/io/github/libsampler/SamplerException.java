package io.github.libsampler;

/**
 * A call failed. The message is one line: which argument, its value, the rule, with the argument's
 * path as the C headers have it, {@code input.num_rows} for {@code numRows} of the input.
 */
public class SamplerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the call returned. */
  private final Status status;

  SamplerException(Status status, String message) {
    super(message);
    this.status = status;
  }

  /**
   * Returns what the call returned.
   *
   * @return never {@link Status#OK}
   */
  public Status status() {
    return status;
  }

  static SamplerException of(Status status, String message) {
    switch (status) {
      case INVALID_ARGUMENT:
        return new InvalidArgumentException(message);
      case OUT_OF_MEMORY:
        return new NativeMemoryException(message);
      case UNSUPPORTED:
        return new UnsupportedException(message);
      case CUDA:
        return new CudaException(message);
      default:
        return new SamplerException(status, message);
    }
  }
}
