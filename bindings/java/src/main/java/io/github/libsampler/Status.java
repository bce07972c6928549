package io.github.libsampler;

/** Status codes. */
public enum Status {
  /** The call succeeded. */
  OK,
  /** An argument breaks a rule of its documentation. Nothing was enqueued, no output written. */
  INVALID_ARGUMENT,
  /** There was no memory for a sampler or a state. */
  OUT_OF_MEMORY,
  /** The sampler's or the call's workspace is smaller than {@link Sampler#workspaceSize} tells. */
  WORKSPACE_TOO_SMALL,
  /** The arguments are valid, but this build or device does not offer what they ask for. */
  UNSUPPORTED,
  /** The native library was built for another ABI of libsampler. */
  ABI_MISMATCH,
  /** The system refused something, such as starting a thread. */
  SYSTEM,
  /** A callback broke its contract; Java sets none. */
  CALLBACK,
  /** CUDA reported an error. The outputs are undefined. */
  CUDA,
  /** A fault of libsampler itself, which it caught. The outputs are undefined. */
  INTERNAL,
  /** Serialised data is truncated, damaged or of a newer format. */
  CORRUPT_DATA,
  /** A status of a newer library. */
  UNKNOWN;

  static Status of(long code) {
    return code >= 0 && code < UNKNOWN.ordinal() ? values()[(int) code] : UNKNOWN;
  }
}
