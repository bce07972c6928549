package io.github.libsampler;

import java.nio.ByteBuffer;

/**
 * Where a call runs.
 */
public final class Exec {
  static final Exec DEFAULT = new Exec();

  long stream;
  Array workspace;
  long workspaceBytes;

  /** Creates the legacy default stream and the sampler's workspace. */
  public Exec() {}

  /**
   * Sets where the work is enqueued. A CPU sampler ignores it.
   *
   * @param stream a cudaStream_t as a number; 0, the default, is the legacy default stream
   * @return this
   */
  public Exec stream(long stream) {
    this.stream = stream;
    return this;
  }

  /**
   * Sets memory for the call, of as many bytes as {@link Sampler#workspaceSize} tells, or more.
   *
   * @param workspace a direct buffer, from its position to its limit; null, the default: the
   *     sampler's
   * @return this
   */
  public Exec workspace(ByteBuffer workspace) {
    this.workspace = Array.bytes(workspace);
    this.workspaceBytes = 0;
    return this;
  }

  /**
   * Sets memory of the device for the call.
   *
   * @param address 0: the sampler's
   * @param bytes as many as {@link Sampler#workspaceSize} tells, or more
   * @return this
   */
  public Exec workspaceAddress(long address, long bytes) {
    this.workspace = Array.device(address, null);
    this.workspaceBytes = bytes;
    return this;
  }
}
