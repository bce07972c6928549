package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import io.github.libsampler.internal.RawConstants;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.BiConsumer;

/**
 * A sampler: a device, its threads and, if wanted, a workspace.
 *
 * <pre>{@code
 * try (Sampler sampler = Sampler.builder().maxRows(1).maxCols(5).build()) {
 *   sampler.topKTopP(rows, 50, 0.95f, 0.8f, seed, step, tokens);
 * }
 * }</pre>
 *
 * <p>It serves one call at a time: calls of several threads, and {@link #close}, take turns.
 * Different samplers are independent. One that is never closed is closed some time after it is no
 * longer reachable.
 *
 * <p>A call on a CPU sampler has done its work when it returns; one on a CUDA sampler is enqueued
 * on the stream of its arguments.
 *
 * <p>The simple calls, {@link #topKTopP} and its like, have plain arguments and are for a CPU
 * sampler with a workspace. Each draws one token per row, or writes a row for each. The full calls,
 * {@link #sample}, {@link #score}, {@link #filter}, {@link #select}, {@link #verify} and {@link
 * #residual}, have every option, and allocate nothing.
 *
 * <p>Each throws {@link InvalidArgumentException} when an argument breaks a rule, another {@link
 * SamplerException} when the library fails for another reason, and {@link IllegalStateException}
 * when the sampler is closed.
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
   * Returns the version of the library that was loaded.
   *
   * @return such as "0.1.0-rc1"
   */
  public static String version() {
    return Raw.shimVersionString();
  }

  /**
   * Returns what this build and machine offer. The first call may start CUDA's runtime.
   *
   * @return a snapshot
   */
  public static Capabilities capabilities() {
    return Capabilities.ofThisMachine();
  }

  /**
   * Draws one token per output row from what the filters keep of its input row.
   *
   * @param args the arguments
   */
  public void sample(SampleArgs args) {
    call(args, false);
  }

  /**
   * Reports on given tokens what {@link #sample} reports on drawn ones, bit for bit. Nothing is
   * drawn.
   *
   * @param args the arguments
   */
  public void score(ScoreArgs args) {
    call(args, false);
  }

  /**
   * Writes what the filters keep of each row: softmax without filters, renormalisation, masks.
   *
   * @param args the arguments
   */
  public void filter(FilterArgs args) {
    call(args, false);
  }

  /**
   * Writes the first numSelected tokens of each row, by value, then id: their values and ids.
   *
   * @param args the arguments
   */
  public void select(SelectArgs args) {
    call(args, false);
  }

  /**
   * Verifies each sequence's chain of drafts and emits between 1 and numDrafts + 1 tokens. Draft
   * x is accepted with probability min(1, p(x) / q(x)), p the target's, q the draft's; at the
   * first rejection a token is drawn from max(p - q, 0), and after the last draft from p.
   *
   * @param args the arguments
   */
  public void verify(VerifyArgs args) {
    call(args, false);
  }

  /**
   * Writes what {@link #verify} draws from after a rejection: max(p - q, 0) of each row,
   * renormalised, or p where that is 0 everywhere.
   *
   * @param args the arguments
   */
  public void residual(ResidualArgs args) {
    call(args, false);
  }

  /**
   * Commits the candidates that each block's rules let stand.
   *
   * @param args the arguments
   */
  public void unmask(UnmaskArgs args) {
    call(args, false);
  }

  /**
   * Makes a state of empty slots for sequences.
   *
   * @param options how many slots, of how many tokens
   * @return a state to be closed
   * @throws SamplerException {@link InvalidArgumentException}, {@link NativeMemoryException},
   *     {@link
   *     UnsupportedException} (a CUDA sampler)
   */
  public State newState(StateOptions options) {
    Arguments.required("options", options);
    try {
      return new State(this, handle.newState(options), CLEANER);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Returns how many bytes of memory such a state takes.
   *
   * @param options how many slots, of how many tokens
   * @return a number of bytes
   */
  public long stateSize(StateOptions options) {
    Arguments.required("options", options);
    try {
      return handle.stateSize(options);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Makes an empty session and takes all of its memory.
   *
   * @param options how many sequences, of how many tokens
   * @return a session to be closed
   * @throws SamplerException {@link InvalidArgumentException}, {@link NativeMemoryException},
   *     {@link UnsupportedException} (a CUDA sampler)
   */
  public Session newSession(SessionOptions options) {
    Arguments.required("options", options);
    try {
      return new Session(this, handle.newSession(options), CLEANER);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Returns how many bytes of memory such a session takes.
   *
   * @param options how many sequences, of how many tokens
   * @return a number of bytes
   */
  public long sessionSize(SessionOptions options) {
    Arguments.required("options", options);
    try {
      return handle.sessionSize(options);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Gives the token of the largest value of each row.
   *
   * @param input rows of logits or probabilities
   * @param outTokenIds [numRows] where the tokens go
   */
  public void argmax(Rows input, int[] outTokenIds) {
    draw(input, new Params().temperature(0), 0, 0, outTokenIds);
  }

  /**
   * Draws from the whole row.
   *
   * @param input rows of logits or probabilities
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [numRows] where the tokens go
   */
  public void categorical(
      Rows input, float temperature, long seed, long offset, int[] outTokenIds) {
    draw(input, new Params().temperature(temperature), seed, offset, outTokenIds);
  }

  /**
   * Draws from the likeliest tokens.
   *
   * @param input rows of logits or probabilities
   * @param topK how many of the likeliest tokens to keep; &lt;= 0: all
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [numRows] where the tokens go
   */
  public void topK(
      Rows input, int topK, float temperature, long seed, long offset, int[] outTokenIds) {
    draw(input, new Params().temperature(temperature).topK(topK), seed, offset, outTokenIds);
  }

  /**
   * Draws from the nucleus.
   *
   * @param input rows of logits or probabilities
   * @param topP keeps the likeliest tokens whose probability reaches it; &gt;= 1: all
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [numRows] where the tokens go
   */
  public void topP(
      Rows input, float topP, float temperature, long seed, long offset, int[] outTokenIds) {
    draw(input, new Params().temperature(temperature).topP(topP), seed, offset, outTokenIds);
  }

  /**
   * Draws from the tokens whose probability is not too far below the largest.
   *
   * @param input rows of logits or probabilities
   * @param minP keeps tokens at least minP times as likely as the likeliest; &lt;= 0: all
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [numRows] where the tokens go
   */
  public void minP(
      Rows input, float minP, float temperature, long seed, long offset, int[] outTokenIds) {
    draw(input, new Params().temperature(temperature).minP(minP), seed, offset, outTokenIds);
  }

  /**
   * Draws from what top-k keeps, then top-p of that.
   *
   * @param input rows of logits or probabilities
   * @param topK how many of the likeliest tokens to keep; &lt;= 0: all
   * @param topP keeps the likeliest tokens whose probability reaches it; &gt;= 1: all
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [numRows] where the tokens go
   */
  public void topKTopP(
      Rows input, int topK, float topP, float temperature, long seed, long offset, int[]
      outTokenIds) {
    draw(input, new Params().temperature(temperature).topK(topK).topP(topP), seed, offset,
        outTokenIds);
  }

  /**
   * Writes the probabilities of logits at the temperature; 0 for a bad row.
   *
   * @param input rows of logits or probabilities
   * @param temperature what logits are divided by; at most 1e-5: greedy
   * @param output [numRows, numCols] where the rows go
   */
  public void softmax(Rows input, float temperature, float[] output) {
    write(input, new Params().temperature(temperature), OutputKind.PROBABILITIES, output);
  }

  /**
   * Writes probabilities: those of the topK largest renormalised, 0 elsewhere and in bad rows.
   *
   * @param input rows of logits or probabilities
   * @param topK how many of the likeliest tokens to keep; &lt;= 0: all
   * @param output [numRows, numCols] where the rows go
   */
  public void topKRenorm(Rows input, int topK, float[] output) {
    write(input, new Params().topK(topK), OutputKind.PROBABILITIES, output);
  }

  /**
   * Writes probabilities: those of the nucleus renormalised, 0 elsewhere and in bad rows.
   *
   * @param input rows of logits or probabilities
   * @param topP keeps the likeliest tokens whose probability reaches it; &gt;= 1: all
   * @param output [numRows, numCols] where the rows go
   */
  public void topPRenorm(Rows input, float topP, float[] output) {
    write(input, new Params().topP(topP), OutputKind.PROBABILITIES, output);
  }

  /**
   * Writes logits, with all but the topK largest set to -inf. A bad row is copied.
   *
   * @param input rows of logits or probabilities
   * @param topK how many of the likeliest tokens to keep; &lt;= 0: all
   * @param output [numRows, numCols] where the rows go
   */
  public void topKMask(Rows input, int topK, float[] output) {
    write(input, new Params().topK(topK), OutputKind.VALUES, output);
  }

  /**
   * Writes the first tokens of each row, largest value first. Where there are fewer the rest is
   * -inf (probabilities: 0) and -1.
   *
   * @param input rows of logits or probabilities
   * @param numSelected how many, in [1, numCols]
   * @param outValues [numRows, numSelected] where the values go; null: nowhere
   * @param outTokenIds [numRows, numSelected] where the ids go; null: nowhere
   */
  public void topKSelect(Rows input, int numSelected, float[] outValues, int[] outTokenIds) {
    call(new SelectArgs().input(input).numSelected(numSelected).outValues(Array.f32(outValues))
        .outTokenIds(Array.i32(outTokenIds)), false);
  }

  /**
   * Verifies a chain of draft tokens for each sequence, so that what is emitted follows the
   * target's distribution. {@link VerifyArgs} tells how the rows lie.
   *
   * @param target [sequences, numDrafts + 1, numCols]
   * @param draft [sequences, numDrafts, numCols]; null for a deterministic drafter
   * @param draftTokenIds [sequences, numDrafts]
   * @param numDrafts how many drafts a sequence has
   * @param seed use each pair of seed and offset once
   * @param offset another one for each step
   * @param outTokenIds [sequences, numDrafts + 1] where the accepted drafts, one token more, then
   *     -1 go
   * @param outAcceptedCounts [sequences] where the number of drafts that would be accepted each on
   *     its own goes; null: nowhere
   * @param outEmittedCounts [sequences] where the number of drafts before the first rejection goes;
   *     null: nowhere
   */
  public void chainSpeculative(Rows target, Rows draft, int[] draftTokenIds, int numDrafts,
      long seed, long offset, int[] outTokenIds, int[] outAcceptedCounts, int[] outEmittedCounts) {
    call(new VerifyArgs().target(target).draft(draft).draftTokenIds(Array.i32(draftTokenIds))
        .numDrafts(numDrafts).random(new Randomness(seed, offset))
        .outTokenIds(Array.i32(outTokenIds)).outAcceptedCounts(Array.i32(outAcceptedCounts))
        .outEmittedCounts(Array.i32(outEmittedCounts)), false);
  }

  private void draw(Rows input, Params params, long seed, long offset, int[] outTokenIds) {
    call(new SampleArgs().input(input).params(params).random(new Randomness(seed, offset))
        .outTokenIds(Array.i32(outTokenIds)), false);
  }

  private void write(Rows input, Params params, OutputKind kind, float[] output) {
    call(new FilterArgs().input(input).params(params).outputKind(kind).output(Array.f32(output)),
        false);
  }

  /**
   * Returns the bytes of workspace that the call with these arguments needs: with one fewer it
   * throws. Arrays matter only by whether they are set.
   *
   * @param args the arguments, set as for the call
   * @return a number of bytes
   */
  public long workspaceSize(Arguments args) {
    return call(args, true);
  }

  /**
   * Stops the sampler's threads and releases its memory, that of its states too, after the call
   * that is running. The second time it does nothing. Work that was enqueued on a CUDA stream must
   * have finished.
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
    private int maxRows;
    private int maxCols;
    private long fallbackTokenId;
    private boolean useFallbackToken;
    private boolean hostParameters;
    private boolean checkPointers;
    private long parallelFor;
    private long parallelForUser;
    private Allocator allocator = Allocator.NONE;
    private BiConsumer<LogLevel, String> log;

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
    public Builder maxRows(int maxRows) {
      this.maxRows = maxRows;
      return this;
    }

    /**
     * Sets for how many columns the sampler's workspace has room.
     *
     * @param maxCols in [0, 2^20); 0, the default: there is none, and each call brings its own
     * @return this
     */
    public Builder maxCols(int maxCols) {
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
     * Sets whether a CUDA sampler takes the numbers per row or slot (the arrays of {@link
     * RowParams} and {@link Randomness}, and selectedCounts) as arrays and direct buffers. A CPU
     * sampler ignores it.
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
     * Sets what runs a call's tasks in place of the sampler's threads.
     *
     * @param function the address of a C function, a sampler_parallel_for_fn, which must not call
     *     Java; 0, the default: the sampler's threads
     * @param user what it gets
     * @return this
     */
    public Builder parallelFor(long function, long user) {
      this.parallelFor = function;
      this.parallelForUser = user;
      return this;
    }

    /**
     * Sets where the memory of the sampler and its workspace comes from.
     *
     * @param allocator null, the default: the C library's
     * @return this
     */
    public Builder allocator(Allocator allocator) {
      this.allocator = allocator == null ? Allocator.NONE : allocator;
      return this;
    }

    /**
     * Sets what hears of the sampler made, and of every error that the library finds in its calls:
     * one line each, on the thread of the call, before that throws. It must not call the sampler.
     *
     * @param log null, the default: nothing
     * @return this
     */
    public Builder log(BiConsumer<LogLevel, String> log) {
      this.log = log;
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
      final boolean isCuda = deviceType == DeviceType.CUDA;
      final ByteBuffer memory = Raw.javaAllocate(Call.SIZE);
      if (memory == null) {
        throw new NativeMemoryException("no memory for a sampler");
      }
      final long address = create(memory);
      if (address == 0) {
        Raw.javaFree(memory);
        throw new NativeMemoryException("no memory for a sampler");
      }
      final Handle handle =
          new Handle(address, memory, isCuda, isCuda && !hostParameters, log);
      try {
        if (Status.of(Raw.shimStatus(address)) != Status.OK) {
          throw handle.failure();
        }
        handle.passLog();
      } catch (Throwable failure) { // the log's, too
        handle.run();
        throw failure;
      }
      return new Sampler(handle);
    }

    /** The struct's other members are 0, as the memory is. */
    private long create(ByteBuffer memory) {
      final ByteBuffer options = memory.order(ByteOrder.nativeOrder());
      options.putLong(Layout.OPTIONS_STRUCT_SIZE, Layout.OPTIONS_SIZE);
      options.putInt(Layout.OPTIONS_ABI_VERSION, RawConstants.SAMPLER_ABI_VERSION);
      options.putInt(Layout.OPTIONS_DEVICE_TYPE, deviceType.ordinal());
      options.putInt(Layout.OPTIONS_DEVICE_ID, deviceId);
      options.putInt(Layout.OPTIONS_NUM_THREADS, numThreads);
      options.putLong(Layout.OPTIONS_MAX_ROWS, maxRows);
      options.putLong(Layout.OPTIONS_MAX_COLS, maxCols);
      options.putLong(Layout.OPTIONS_FALLBACK_TOKEN_ID, fallbackTokenId);
      options.putInt(Layout.OPTIONS_USE_FALLBACK_TOKEN, useFallbackToken ? 1 : 0);
      options.putInt(Layout.OPTIONS_HOST_PARAMETERS, hostParameters ? 1 : 0);
      options.putInt(Layout.OPTIONS_CHECK_POINTERS, checkPointers ? 1 : 0);
      options.putLong(Layout.OPTIONS_PARALLEL_FOR, parallelFor);
      options.putLong(Layout.OPTIONS_PARALLEL_FOR_USER, parallelForUser);
      allocator.write(options, Layout.OPTIONS_ALLOCATOR);
      return Raw.shimCreate(Raw.javaAddress(options), log == null ? 0 : 1);
    }
  }
}
