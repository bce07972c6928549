package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * A sampler: a device, its threads and, if wanted, a workspace.
 *
 * <pre>{@code
 * try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
 *   sampler.topKTopP(args);
 * }
 * }</pre>
 *
 * <p>It serves one call at a time: calls of several threads, and {@link #close}, take turns.
 * Different samplers are independent. One that is never closed is closed some time after it is no
 * longer reachable.
 *
 * <p>A call on a CPU sampler has done its work when it returns; one on a CUDA sampler is enqueued
 * on the stream of its arguments. Each throws {@link InvalidArgumentException} when an argument
 * breaks a rule, another {@link SamplerException} when the library fails for another reason, and {@link
 * IllegalStateException} when the sampler is closed.
 */
public final class Sampler implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final Handle handle;
  private final Cleaner.Cleanable cleanable;

  private Sampler(Handle handle) {
    this.handle = handle;
    this.cleanable = CLEANER.register(this, handle);
  }

  /**
   * Starts the creation of a sampler.
   *
   * @return options at their defaults: the CPU, one thread, no workspace
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Tells the version of the library that was loaded.
   *
   * @return such as "0.0.1"
   */
  public static String version() {
    return Raw.shimVersionString();
  }

  /**
   * Tells what this build and machine offer. The first call may start CUDA's runtime.
   *
   * @return a snapshot
   */
  public static Capabilities capabilities() {
    return Capabilities.ofThisMachine();
  }

  /**
   * Draws one token per row from what top-k, top-p and min-p keep of it: every option in one call.
   *
   * @param args the arguments
   */
  public void sample(SampleArgs args) {
    call(args, false);
  }

  /**
   * Draws one token per row from the topK most likely tokens whose probability reaches topP.
   *
   * @param args the arguments
   */
  public void topKTopP(TopKTopPArgs args) {
    call(args, false);
  }

  /**
   * Draws one token per row from the topK most likely tokens.
   *
   * @param args the arguments
   */
  public void topK(TopKArgs args) {
    call(args, false);
  }

  /**
   * Draws one token per row from the nucleus: the likeliest tokens whose probability reaches topP.
   *
   * @param args the arguments
   */
  public void topP(TopPArgs args) {
    call(args, false);
  }

  /**
   * Draws one token per row from those at least minP times as likely as the likeliest.
   *
   * @param args the arguments
   */
  public void minP(MinPArgs args) {
    call(args, false);
  }

  /**
   * Gives the first token of each row in rank order, the same as sampling at temperature 0.
   *
   * @param args the arguments
   */
  public void argmax(ArgmaxArgs args) {
    call(args, false);
  }

  /**
   * Writes the probabilities of each row of logits at the temperature; one-hot when greedy.
   *
   * @param args the arguments
   */
  public void softmax(SoftmaxArgs args) {
    call(args, false);
  }

  /**
   * Writes each row's probabilities with all but the topK largest set to 0, renormalised.
   *
   * @param args the arguments
   */
  public void topKRenorm(TopKRenormArgs args) {
    call(args, false);
  }

  /**
   * Writes each row's probabilities with all outside the nucleus set to 0, renormalised.
   *
   * @param args the arguments
   */
  public void topPRenorm(TopPRenormArgs args) {
    call(args, false);
  }

  /**
   * Writes each row of logits with all but the topK largest set to -inf.
   *
   * @param args the arguments
   */
  public void topKMask(TopKMaskArgs args) {
    call(args, false);
  }

  /**
   * Writes the first numSelected tokens of each row in rank order: their values and ids.
   *
   * @param args the arguments
   */
  public void topKSelect(TopKSelectArgs args) {
    call(args, false);
  }

  /**
   * Verifies each row's chain of drafts and emits between 1 and numDrafts + 1 tokens.
   *
   * @param args the arguments
   */
  public void chainSpeculative(ChainSpeculativeArgs args) {
    call(args, false);
  }

  /**
   * Writes what a token is drawn from after a rejection: max(p - q, 0) of each row, renormalised,
   * or p where that is 0 everywhere.
   *
   * @param args the arguments
   */
  public void residual(ResidualArgs args) {
    call(args, false);
  }

  /**
   * Tells how many bytes of workspace the call with these arguments needs: with so many it
   * succeeds, with one fewer it throws. Of the arrays only whether they are set matters.
   *
   * @param args the arguments, set as for the call
   * @return a number of bytes
   */
  public long workspaceSize(Arguments args) {
    return call(args, true);
  }

  /**
   * Stops the sampler's threads and releases its memory, after the call that is running. The second
   * time it does nothing. Work that was enqueued on a CUDA stream must have finished.
   */
  @Override
  public void close() {
    cleanable.clean();
  }

  private long call(Arguments args, boolean onlySize) {
    Arguments.required("args", args);
    try {
      return handle.call(args, onlySize);
    } finally {
      // Else the cleaner might close it before the call has begun.
      Reference.reachabilityFence(this);
    }
  }

  /** Options of a sampler. */
  public static final class Builder {
    private DeviceType deviceType = DeviceType.CPU;
    private int deviceId;
    private int numThreads;
    private long maxRows;
    private long maxCols;
    private long fallbackTokenId;
    private boolean useFallbackToken;
    private boolean hostParameters;
    private boolean checkPointers;

    private Builder() {}

    /**
     * Sets where the arrays of the calls live.
     *
     * @param deviceType the CPU by default
     * @return this
     */
    public Builder deviceType(DeviceType deviceType) {
      this.deviceType = Arguments.required("device_type", deviceType);
      return this;
    }

    /**
     * Sets the CUDA device.
     *
     * @param deviceId 0, the default, is the first; 0 for the CPU
     * @return this
     */
    public Builder deviceId(int deviceId) {
      this.deviceId = deviceId;
      return this;
    }

    /**
     * Sets how many rows a CPU sampler works on at once. With more than one, threads are started
     * when it is built, and sleep between calls.
     *
     * @param numThreads in [1, 256]; 0, the default, is 1, the caller's thread alone
     * @return this
     */
    public Builder numThreads(int numThreads) {
      this.numThreads = numThreads;
      return this;
    }

    /**
     * Sets for how many output rows the sampler's workspace has room. One of maxRows and maxCols
     * without the other is an error.
     *
     * @param maxRows in [0, 2^31); 0, the default: there is none, and each call brings its own
     * @return this
     */
    public Builder maxRows(long maxRows) {
      this.maxRows = maxRows;
      return this;
    }

    /**
     * Sets for how many columns the sampler's workspace has room.
     *
     * @param maxCols in [0, 2^20); 0, the default: there is none, and each call brings its own
     * @return this
     */
    public Builder maxCols(long maxCols) {
      this.maxCols = maxCols;
      return this;
    }

    /**
     * Sets what a bad row yields as its token, instead of -1.
     *
     * @param fallbackTokenId in [0, numCols) of every call on rows, in [0, 2^20) on candidate lists
     * @return this
     */
    public Builder fallbackTokenId(long fallbackTokenId) {
      this.fallbackTokenId = fallbackTokenId;
      this.useFallbackToken = true;
      return this;
    }

    /**
     * Sets whether a CUDA sampler takes the numbers per row (temperatures, topKs, topPs, minPs,
     * seeds, offsets) as arrays and direct buffers. A CPU sampler ignores it.
     *
     * @param hostParameters false, the default: they are device memory like all other arrays
     * @return this
     */
    public Builder hostParameters(boolean hostParameters) {
      this.hostParameters = hostParameters;
      return this;
    }

    /**
     * Sets whether each call on a CUDA sampler checks that its addresses are memory of the device,
     * for debugging. A CPU sampler ignores it.
     *
     * @param checkPointers false by default
     * @return this
     */
    public Builder checkPointers(boolean checkPointers) {
      this.checkPointers = checkPointers;
      return this;
    }

    /**
     * Creates the sampler.
     *
     * @return a sampler to be closed
     * @throws SamplerException {@link InvalidArgumentException}, {@link UnsupportedException} (no
     *     CUDA in this build or on this machine), {@link NativeMemoryException}, {@link
     *     CudaException}, or another status: a thread could not be started
     * @throws UnsatisfiedLinkError when the native library is not found; the message tells why
     */
    public Sampler build() {
      final long address = Raw.shimCreate(deviceType.ordinal(), deviceId, numThreads, maxRows,
          maxCols, fallbackTokenId, useFallbackToken ? 1 : 0, hostParameters ? 1 : 0,
          checkPointers ? 1 : 0);
      if (address == 0) {
        throw new NativeMemoryException("no memory for a sampler");
      }
      final Status status = Status.of(Raw.shimStatus(address));
      if (status != Status.OK) {
        final String message = Raw.shimError(address);
        Raw.shimDestroy(address);
        throw SamplerException.of(status, message);
      }
      final boolean isCuda = deviceType == DeviceType.CUDA;
      return new Sampler(new Handle(address, isCuda, isCuda && !hostParameters));
    }
  }
}
