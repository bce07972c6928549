package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Sequences that come and go while others run, around models that the caller runs: {@link #plan}
 * tells which tokens to run, {@link #advance} takes the logits and gives new tokens.
 *
 * <p>A sequence is a text with its own parameters, seed, limits and drafts. It has a number, which
 * callers may use for their caches. With {@link Acceptance#SAMPLE_MATCH} its n-th new token,
 * from 0, is what {@link Sampler#sample} draws for its text with its seed, offset n and stream 0.
 * It does not depend on the other sequences, on how spans are batched, or on drafts.
 *
 * <p>Its calls are calls of its sampler, and wait for that one's other calls. What they take and
 * give is copied; on a CUDA sampler logits are addresses of device memory, and {@link #advance}
 * waits for the stream of the options. A call that fails changes nothing.
 */
public final class Session implements AutoCloseable {
  private final Sampler sampler;
  private final SessionMemory memory;
  private final Cleaner.Cleanable cleanable;

  Session(Sampler sampler, SessionMemory memory, Cleaner cleaner) {
    this.sampler = sampler;
    this.memory = memory;
    this.cleanable = cleaner.register(this, memory);
  }

  private <T> T call(Handle.SessionCall<T> made) {
    try {
      return memory.handle.call(memory, made);
    } finally {
      Reference.reachabilityFence(this);
      Reference.reachabilityFence(sampler);
    }
  }

  /** What goes on of a sequence that was removed: an address, or 0. */
  private static long resumed(Buffers buffers, Sequence sequence) {
    if (sequence == null) {
      return 0;
    }
    final ByteBuffer raw = buffers.ofBytes(Layout.SESSION_SEQUENCE_SIZE);
    raw.putLong(Layout.SESSION_SEQUENCE_STRUCT_SIZE, Layout.SESSION_SEQUENCE_SIZE);
    raw.putLong(Layout.SESSION_SEQUENCE_NUM_STEPS, sequence.numSteps);
    raw.putLong(Layout.SESSION_SEQUENCE_NUM_DRAFTED, sequence.numDrafted);
    raw.putLong(Layout.SESSION_SEQUENCE_NUM_ACCEPTED, sequence.numAccepted);
    for (int i = 0; i < sequence.adaptiveValues.length; ++i) {
      raw.putFloat(Layout.SESSION_SEQUENCE_ADAPTIVE_VALUES + 4 * i, sequence.adaptiveValues[i]);
    }
    raw.putDouble(Layout.SESSION_SEQUENCE_DRAFTER_ENTROPY, sequence.drafterEntropy);
    return Raw.javaAddress(raw);
  }

  /**
   * Adds a sequence. It may have finished already: where no token may follow.
   *
   * @param args the text and what belongs to it
   * @return its number
   */
  public int add(AddArgs args) {
    Arguments.required("args", args);
    return call((call, handle, session) -> {
      final Buffers buffers = new Buffers();
      final int at = Call.ARGS;
      // Read once: other threads may change them.
      final int[] tokenIds = args.tokenIds;
      final int[] endTokenIds = args.endTokenIds;
      final TokenLists stopSequences = args.stopSequences;
      call.put(at + Layout.SESSION_ADD_ARGS_STRUCT_SIZE, (long) Layout.SESSION_ADD_ARGS_SIZE);
      call.put(at + Layout.SESSION_ADD_ARGS_TOKEN_IDS, buffers.of(tokenIds));
      call.put(at + Layout.SESSION_ADD_ARGS_NUM_TOKENS, (long) tokenIds.length);
      call.put(at + Layout.SESSION_ADD_ARGS_PROMPT_LENGTH, (long) args.promptLength);
      call.put(at + Layout.SESSION_ADD_ARGS_CACHE_LENGTH, (long) args.cacheLength);
      call.put(at + Layout.SESSION_ADD_ARGS_DRAFTER_CACHE_LENGTH, (long) args.drafterCacheLength);
      call.params(at + Layout.SESSION_ADD_ARGS_PARAMS, args.params);
      call.put(at + Layout.SESSION_ADD_ARGS_SEED, args.seed);
      call.put(at + Layout.SESSION_ADD_ARGS_MAX_NEW_TOKENS, (long) args.maxNewTokens);
      call.put(at + Layout.SESSION_ADD_ARGS_END_TOKEN_IDS, buffers.of(endTokenIds));
      call.put(at + Layout.SESSION_ADD_ARGS_NUM_END_TOKENS, (long) endTokenIds.length);
      call.keep(() -> call.hostLists(at + Layout.SESSION_ADD_ARGS_STOP_SEQUENCES,
          "stop_sequences.", stopSequences, buffers));
      call.put(at + Layout.SESSION_ADD_ARGS_DRAFT_SOURCE, args.draftSource.ordinal());
      call.put(at + Layout.SESSION_ADD_ARGS_ACCEPTANCE, args.acceptance.ordinal());
      final NgramMemory ngram = args.ngram == null ? null : args.ngram.memory;
      call.put(at + Layout.SESSION_ADD_ARGS_NGRAM, ngram == null ? 0 : ngram.hold());
      call.put(at + Layout.SESSION_ADD_ARGS_NUM_DRAFTS, (long) args.numDrafts);
      call.put(at + Layout.SESSION_ADD_ARGS_MIN_MATCH, (long) args.minMatch);
      call.put(at + Layout.SESSION_ADD_ARGS_DRAFT_UNKNOWN, args.draftUnknown ? 1 : 0);
      call.put(at + Layout.SESSION_ADD_ARGS_NGRAM_LEAST_COUNT, args.ngramLeastCount);
      call.put(at + Layout.SESSION_ADD_ARGS_NGRAM_LEAST_SHARE, args.ngramLeastShare);
      call.put(at + Layout.SESSION_ADD_ARGS_LEAST_DRAFT_PROBABILITY, args.leastDraftProbability);
      call.put(at + Layout.SESSION_ADD_ARGS_DRAFT_TOP_K, (long) args.draftTopK);
      call.put(at + Layout.SESSION_ADD_ARGS_ADAPTIVE_GAMMA, args.adaptiveGamma.ordinal());
      call.put(at + Layout.SESSION_ADD_ARGS_EMA_BETA, args.emaBeta);
      call.put(at + Layout.SESSION_ADD_ARGS_GAMMA_MIN, (long) args.gammaMin);
      call.put(at + Layout.SESSION_ADD_ARGS_RESUMED, resumed(buffers, args.resumed));
      call.put(at + Layout.SESSION_ADD_ARGS_NGRAM_HAS_TEXT, args.ngramHasText ? 1 : 0);
      final UnmaskParams unmask = args.unmask;
      call.unmask(at + Layout.SESSION_ADD_ARGS_UNMASK, unmask);
      final long added = Raw.shimSessionAdd(handle, session, call.argsAddress());
      Reference.reachabilityFence(buffers);
      if (ngram != null && (added < 0 || !memory.ngrams.add(ngram))) {
        ngram.letGo();
      }
      final int sequence = (int) memory.handle.checked(added);
      memory.blocks.set(sequence, unmask != null);
      return sequence;
    });
  }

  /**
   * Adds a copy of a sequence, drafts of the step apart. The caller copies the caches, cut to
   * {@link #get}'s lengths.
   *
   * @param source the sequence that is copied; it goes on as if nothing had been
   * @param seed null: the source's, with which its text comes again
   * @param params null: the source's
   * @return the copy's number
   */
  public int fork(int source, Long seed, Params params) {
    return call((call, handle, session) -> {
      final Buffers buffers = new Buffers();
      final int at = Call.ARGS;
      call.put(at + Layout.SESSION_FORK_ARGS_STRUCT_SIZE, (long) Layout.SESSION_FORK_ARGS_SIZE);
      call.put(at + Layout.SESSION_FORK_ARGS_SOURCE, source);
      call.put(at + Layout.SESSION_FORK_ARGS_RESERVED, 0);
      call.put(at + Layout.SESSION_FORK_ARGS_SEED,
          seed == null ? 0 : buffers.of(new long[] {seed}));
      call.params(at + Layout.SESSION_FORK_ARGS_PARAMS, params);
      final long added = Raw.shimSessionFork(handle, session, call.argsAddress());
      Reference.reachabilityFence(buffers);
      final int sequence = (int) memory.handle.checked(added);
      memory.blocks.set(sequence, memory.blocks.get(source));
      return sequence;
    });
  }

  /**
   * Removes a sequence, finished or not. Its number may be given to another one.
   *
   * @param sequence its number
   */
  public void remove(int sequence) {
    call((call, handle, session) ->
        memory.handle.checked(Raw.shimSessionRemove(handle, session, sequence)));
  }

  /** What C's memory has. */
  private static int[] tokens(long address, long count) {
    final ByteBuffer buffer = new Buffers().ofBytes(4 * count);
    Raw.shimCopyTokens(address, Raw.javaAddress(buffer), count);
    return ints(buffer, 0, Math.toIntExact(count));
  }

  private static int[] ints(ByteBuffer buffer, int first, int count) {
    final int[] result = new int[count];
    buffer.asIntBuffer().position(first).get(result);
    return result;
  }

  private static float[] values(ByteBuffer found, int at) {
    final float[] values = new float[State.NUM_ADAPTIVE_VALUES];
    for (int i = 0; i < values.length; ++i) {
      values[i] = found.getFloat(at + 4 * i);
    }
    return values;
  }

  /**
   * Gives what there is of a sequence.
   *
   * @param sequence its number
   * @return a copy
   */
  public Sequence get(int sequence) {
    return call((call, handle, session) -> {
      final ByteBuffer found = new Buffers().ofBytes(Layout.SESSION_SEQUENCE_SIZE);
      found.putLong(Layout.SESSION_SEQUENCE_STRUCT_SIZE, Layout.SESSION_SEQUENCE_SIZE);
      memory.handle.checked(
          Raw.shimSessionGet(handle, session, sequence, Raw.javaAddress(found)));
      return new Sequence(
          tokens(found.getLong(Layout.SESSION_SEQUENCE_TOKEN_IDS),
              found.getLong(Layout.SESSION_SEQUENCE_NUM_TOKENS)),
          (int) found.getLong(Layout.SESSION_SEQUENCE_PROMPT_LENGTH),
          (int) found.getLong(Layout.SESSION_SEQUENCE_CACHE_LENGTH),
          (int) found.getLong(Layout.SESSION_SEQUENCE_DRAFTER_CACHE_LENGTH),
          FinishReason.values()[found.getInt(Layout.SESSION_SEQUENCE_FINISH_REASON)],
          found.getInt(Layout.SESSION_SEQUENCE_ROW_STATUS),
          (int) found.getLong(Layout.SESSION_SEQUENCE_STOP_SEQUENCE),
          found.getLong(Layout.SESSION_SEQUENCE_NUM_STEPS),
          found.getLong(Layout.SESSION_SEQUENCE_NUM_DRAFTED),
          found.getLong(Layout.SESSION_SEQUENCE_NUM_ACCEPTED),
          found.getInt(Layout.SESSION_SEQUENCE_IS_DRAFTING) != 0,
          values(found, Layout.SESSION_SEQUENCE_ADAPTIVE_VALUES),
          found.getDouble(Layout.SESSION_SEQUENCE_DRAFTER_ENTROPY));
    });
  }

  /**
   * Returns what all sequences are to run.
   *
   * @param maxTokens tokens of all spans of a model at most; 0: no limit. Else at least one more
   *     than drafts. Longer texts are planned in parts. A sequence that there is no room for gets
   *     no span, and is among the first next time
   * @return spans for the two models
   */
  public Plan plan(long maxTokens) {
    return plan(null, maxTokens);
  }

  /**
   * Returns what some sequences are to run. Planning again without having advanced is fine; the
   * last plan of a sequence counts.
   *
   * @param sequences none twice, in the order in which they get of the tokens. Finished ones are
   *     passed over. null: all
   * @param maxTokens as above
   * @return spans for the two models
   */
  public Plan plan(int[] sequences, long maxTokens) {
    return call((call, handle, session) -> {
      final Buffers buffers = new Buffers();
      final long count = sequences == null ? memory.maxSequences : sequences.length;
      final ByteBuffer spans = buffers.ofBytes(count * Layout.SPAN_SIZE);
      final ByteBuffer drafterSpans = buffers.ofBytes(count * Layout.SPAN_SIZE);
      final ByteBuffer counts = buffers.ofBytes(2 * Long.BYTES);
      final int at = Call.ARGS;
      final int drafts = memory.hasDraftTrees ? memory.maxDrafts : 0;
      final ByteBuffer parents = buffers.ofBytes(4 * count * drafts);
      call.put(at + Layout.SESSION_PLAN_ARGS_OUT_PARENTS,
          drafts == 0 ? 0 : Raw.javaAddress(parents));
      call.put(at + Layout.SESSION_PLAN_ARGS_STRUCT_SIZE, (long) Layout.SESSION_PLAN_ARGS_SIZE);
      call.put(at + Layout.SESSION_PLAN_ARGS_SEQUENCES,
          sequences == null ? 0 : buffers.of(sequences));
      call.put(at + Layout.SESSION_PLAN_ARGS_NUM_SEQUENCES,
          sequences == null ? 0L : (long) sequences.length);
      call.put(at + Layout.SESSION_PLAN_ARGS_MAX_TOKENS, maxTokens);
      call.put(at + Layout.SESSION_PLAN_ARGS_OUT_SPANS, Raw.javaAddress(spans));
      call.put(at + Layout.SESSION_PLAN_ARGS_OUT_NUM_SPANS, Raw.javaAddress(counts));
      call.put(at + Layout.SESSION_PLAN_ARGS_OUT_DRAFTER_SPANS, Raw.javaAddress(drafterSpans));
      call.put(at + Layout.SESSION_PLAN_ARGS_OUT_NUM_DRAFTER_SPANS,
          Raw.javaAddress(counts) + Long.BYTES);
      memory.handle.checked(Raw.shimSessionPlan(handle, session, call.argsAddress()));
      Reference.reachabilityFence(buffers);
      return new Plan(
          read(spans, counts.getLong(0),
              (span, numDrafts) -> drafts == 0 ? IntStream.range(-1, numDrafts - 1).toArray()
                  : ints(parents, span * drafts, numDrafts)),
          read(drafterSpans, counts.getLong(8), (span, numDrafts) -> new int[0]));
    });
  }

  /** What the drafts of a span follow. */
  private interface Parents {
    int[] of(int span, int numDrafts);
  }

  private List<Span> read(ByteBuffer spans, long count, Parents parents) {
    final List<Span> result = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      final int at = i * Layout.SPAN_SIZE;
      final long address = spans.getLong(at + Layout.SPAN_TOKEN_IDS);
      final int numLogits = (int) spans.getLong(at + Layout.SPAN_NUM_LOGITS);
      final int sequence = spans.getInt(at + Layout.SPAN_SEQUENCE);
      final int numDrafts = memory.blocks.get(sequence) ? 0 : Math.max(numLogits - 1, 0);
      result.add(new Span(sequence, spans.getInt(at + Layout.SPAN_PLAN),
          spans.getLong(at + Layout.SPAN_START),
          tokens(address, spans.getLong(at + Layout.SPAN_NUM_TOKENS)), address, numLogits,
          parents.of(i, numDrafts)));
    }
    return List.copyOf(result);
  }

  private static long write(Buffers buffers, List<Span> spans) {
    final ByteBuffer buffer = buffers.ofBytes((long) spans.size() * Layout.SPAN_SIZE);
    for (int i = 0; i < spans.size(); ++i) {
      final int at = i * Layout.SPAN_SIZE;
      final Span span = spans.get(i);
      buffer.putInt(at + Layout.SPAN_SEQUENCE, span.sequence);
      buffer.putInt(at + Layout.SPAN_PLAN, span.plan);
      buffer.putLong(at + Layout.SPAN_START, span.start);
      buffer.putLong(at + Layout.SPAN_TOKEN_IDS, span.address);
      buffer.putLong(at + Layout.SPAN_NUM_TOKENS, span.tokenIds.length);
      buffer.putLong(at + Layout.SPAN_NUM_LOGITS, span.numLogits);
    }
    return Raw.javaAddress(buffer);
  }

  /** How many rows of logits the spans want. */
  private static long rows(List<Span> spans) {
    return spans.stream().mapToLong(span -> span.numLogits).sum();
  }

  /** How many rows of guidance there are: {@code given}, or as many as the array has if 0. */
  private long guidanceRows(Array logits, long stride, long given) {
    final long step = Math.max(stride, memory.vocabularySize);
    if (given != 0 || logits == null || logits.isOnDevice()) {
      return given;
    } else if (logits.length % step != 0) {
      throw new InvalidArgumentException("guidance_logits has " + logits.length
          + " elements; it must be rows of " + step);
    }
    return logits.length / step;
  }

  /** What belongs to each row: its address, checked. */
  private static long ofRows(Buffers buffers, String name, int[] numbers, long rows) {
    if (numbers != null && numbers.length < rows) {
      throw new InvalidArgumentException(
          name + " has " + numbers.length + " elements; it needs " + rows);
    }
    return numbers == null ? 0 : buffers.of(numbers);
  }

  /** The address of {@code rows} rows, checked, in memory that does not move. */
  private long rows(Call call, Buffers buffers, String name, Array logits, long stride,
      long rows) {
    if (rows == 0 || logits == null) {
      return 0;
    }
    if (logits.isOnDevice() != call.arraysAreOnDevice()) {
      throw new InvalidArgumentException(name + (logits.isOnDevice()
          ? " is an address of device memory; here it must be an array or a direct buffer"
          : " is a Java array or buffer; here it must be an address of device memory"));
    }
    if (logits.type != memory.logitsType) {
      throw new InvalidArgumentException(
          name + " is of " + logits.type + "; it must be of " + memory.logitsType);
    }
    if (logits.isOnDevice()) {
      return logits.address;
    }
    final long needed = Lengths.rows(rows, memory.vocabularySize, stride);
    if (logits.length < needed) {
      throw new InvalidArgumentException(
          name + " has " + logits.length + " elements; it needs " + needed);
    }
    return buffers.fixed(logits).address;
  }

  /**
   * Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row
   * without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with what came before it;
   * a bad row of the drafter only ends the drafts of its step.
   *
   * @param args spans and their logits
   * @return what it gave, by span of the target
   * @throws InvalidArgumentException also where a span is not as its sequence was planned last
   */
  public List<Advanced> advance(AdvanceArgs args) {
    Arguments.required("args", args);
    return call((call, handle, session) -> {
      final Buffers buffers = new Buffers();
      // Read once: other threads may change them.
      final List<Span> spans = List.copyOf(args.spans);
      final List<Span> drafterSpans = List.copyOf(args.drafterSpans);
      final int numTopLogprobs = args.numTopLogprobs;
      final long stride = args.logitsRowStride;
      final long drafterStride = args.drafterRowStride;
      final Array logits = args.logits;
      final Array drafterLogits = args.drafterLogits;
      final Array guidance = args.guidanceLogits;
      final int count = spans.size();
      final long rows = rows(spans);
      final long guidanceRows = guidanceRows(guidance, stride, args.numGuidanceRows);
      final long places = (long) count * (memory.maxDrafts + 1);
      final int numTop = Math.max(numTopLogprobs, 0);
      final ByteBuffer ids = buffers.ofBytes(4 * places);
      final ByteBuffer logprobs = buffers.ofBytes(4 * places);
      final ByteBuffer topIds = buffers.ofBytes(4 * places * numTop);
      final ByteBuffer topLogprobs = buffers.ofBytes(4 * places * numTop);
      final ByteBuffer reasons = buffers.ofBytes(4L * count);
      final ByteBuffer status = buffers.ofBytes(4L * count);
      final ByteBuffer counts = buffers.ofBytes(8L * count);
      final ByteBuffer lengths = buffers.ofBytes(8L * count);
      final ByteBuffer drafterLengths = buffers.ofBytes(8L * count);
      final ByteBuffer accepted = buffers.ofBytes(8L * count);
      final int at = Call.ARGS;
      call.put(at + Layout.SESSION_ADVANCE_ARGS_STRUCT_SIZE,
          (long) Layout.SESSION_ADVANCE_ARGS_SIZE);
      call.put(at + Layout.SESSION_ADVANCE_ARGS_SPANS, write(buffers, spans));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_NUM_SPANS, (long) count);
      call.put(at + Layout.SESSION_ADVANCE_ARGS_LOGITS,
          rows(call, buffers, "logits", logits, stride, rows));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_LOGITS_ROW_STRIDE, stride);
      call.put(at + Layout.SESSION_ADVANCE_ARGS_DRAFTER_SPANS, write(buffers, drafterSpans));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_NUM_DRAFTER_SPANS,
          (long) drafterSpans.size());
      call.put(at + Layout.SESSION_ADVANCE_ARGS_DRAFTER_LOGITS, rows(call, buffers,
          "drafter_logits", drafterLogits, drafterStride, rows(drafterSpans)));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_DRAFTER_ROW_STRIDE, drafterStride);
      call.put(at + Layout.SESSION_ADVANCE_ARGS_TOKEN_BITMASK_INDICES,
          ofRows(buffers, "token_bitmask_indices", args.tokenBitmaskIndices, rows));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_FORCED_TOKEN_IDS,
          ofRows(buffers, "forced_token_ids", args.forcedTokenIds, rows));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_GUIDANCE_LOGITS,
          rows(call, buffers, "guidance_logits", guidance, stride, guidanceRows));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_NUM_GUIDANCE_ROWS, guidanceRows);
      call.put(at + Layout.SESSION_ADVANCE_ARGS_GUIDANCE_ROW_INDICES,
          ofRows(buffers, "guidance_row_indices", args.guidanceRowIndices, rows));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_TOKEN_IDS, Raw.javaAddress(ids));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_COUNTS, Raw.javaAddress(counts));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_FINISH_REASONS, Raw.javaAddress(reasons));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_CACHE_LENGTHS, Raw.javaAddress(lengths));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_DRAFTER_CACHE_LENGTHS,
          Raw.javaAddress(drafterLengths));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_ACCEPTED_COUNTS, Raw.javaAddress(accepted));
      call.put(at + Layout.SESSION_ADVANCE_ARGS_OUT_ROW_STATUS, Raw.javaAddress(status));
      final int to = call.reports(at + Layout.SESSION_ADVANCE_ARGS_REPORTS, true);
      call.put(to + Layout.REPORT_ARGS_STRUCT_SIZE, (long) Layout.REPORT_ARGS_SIZE);
      call.put(to + Layout.REPORT_ARGS_LOGPROB_KIND, args.logprobKind.ordinal());
      call.put(to + Layout.REPORT_ARGS_OUT_LOGPROBS, Raw.javaAddress(logprobs));
      call.put(to + Layout.REPORT_ARGS_NUM_TOP_LOGPROBS, (long) numTopLogprobs);
      call.put(to + Layout.REPORT_ARGS_OUT_TOP_TOKEN_IDS,
          numTop == 0 ? 0 : Raw.javaAddress(topIds));
      call.put(to + Layout.REPORT_ARGS_OUT_TOP_LOGPROBS,
          numTop == 0 ? 0 : Raw.javaAddress(topLogprobs));
      memory.handle.checked(Raw.shimSessionAdvance(handle, session, call.argsAddress()));
      Reference.reachabilityFence(buffers);
      final List<Advanced> result = new ArrayList<>();
      for (int i = 0; i < count; ++i) {
        final int first = i * (memory.maxDrafts + 1);
        final int given = (int) counts.getLong(8 * i);
        final int[] tokens = ints(ids, first, given);
        final float[] own = new float[given];
        final int[][] top = new int[given][];
        final float[][] topOwn = new float[given][numTop];
        logprobs.asFloatBuffer().position(first).get(own);
        for (int j = 0; j < given; ++j) {
          top[j] = ints(topIds, (first + j) * numTop, numTop);
          topLogprobs.asFloatBuffer().position((first + j) * numTop).get(topOwn[j]);
        }
        result.add(new Advanced(spans.get(i).sequence, tokens,
            FinishReason.values()[reasons.getInt(4 * i)], lengths.getLong(8 * i),
            drafterLengths.getLong(8 * i), accepted.getLong(8 * i), status.getInt(4 * i), own, top,
            topOwn));
      }
      return result;
    });
  }

  /**
   * Releases the session's memory, after the call that is running. The second time, and after the
   * sampler was closed, it does nothing.
   */
  @Override
  public void close() {
    cleanable.clean();
  }
}
