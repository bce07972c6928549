package io.github.libsampler;

import io.github.libsampler.internal.Layout;

/** What a {@link Session} is made with. */
public final class SessionOptions {
  int maxSequences;
  int maxContext;
  int vocabularySize;
  ElementType logitsType = ElementType.F32;
  boolean keepDrafterRows;
  int maxDrafts;
  int drafterContext;
  int lookupTokens;
  int maxEndTokens;
  int maxStopSequences;
  int maxStopTokens;
  int maxTopLogprobs;
  Params params;
  Pipeline pipeline;
  AcceptanceParams acceptance;
  boolean hasDraftTrees;
  boolean hasAdaptiveGamma;
  long clock;
  long clockUser;
  long stream;
  int fillerTopK;
  boolean hasBlocks;
  LogprobKind confidenceKind = LogprobKind.RAW;

  /** Creates options at their defaults. */
  public SessionOptions() {}

  /**
   * Sets how many sequences there are at once, finished ones that were not removed among them.
   *
   * @param maxSequences in [1, 2^20]
   * @return this
   */
  public SessionOptions maxSequences(int maxSequences) {
    this.maxSequences = maxSequences;
    return this;
  }

  /**
   * Sets the longest text, its prompt included: what the target's cache can hold.
   *
   * @param maxContext at least 1
   * @return this
   */
  public SessionOptions maxContext(int maxContext) {
    this.maxContext = maxContext;
    return this;
  }

  /**
   * Sets the columns of the logits.
   *
   * @param vocabularySize in [1, 2^20)
   * @return this
   */
  public SessionOptions vocabularySize(int vocabularySize) {
    this.vocabularySize = vocabularySize;
    return this;
  }

  /**
   * Sets the type of the logits.
   *
   * @param logitsType F32, the default, F16 or BF16
   * @return this
   */
  public SessionOptions logitsType(ElementType logitsType) {
    this.logitsType = logitsType == null ? ElementType.F32 : logitsType;
    return this;
  }

  /**
   * Lets sequences with a drafter have {@link Acceptance#STANDARD}, BLOCK, RELAXED and
   * DEFERRED.
   *
   * @param keepDrafterRows whether the session keeps the drafter's rows
   * @return this
   */
  public SessionOptions keepDrafterRows(boolean keepDrafterRows) {
    this.keepDrafterRows = keepDrafterRows;
    return this;
  }

  /**
   * Sets how many drafts a sequence has in a step at most.
   *
   * @param maxDrafts in [0, 1024]; 0, the default: nothing is drafted
   * @return this
   */
  public SessionOptions maxDrafts(int maxDrafts) {
    this.maxDrafts = maxDrafts;
    return this;
  }

  /**
   * Sets the longest text that the drafter model's cache can hold; a longer one goes on without.
   *
   * @param drafterContext 0, the default: as the target's
   * @return this
   */
  public SessionOptions drafterContext(int drafterContext) {
    this.drafterContext = drafterContext;
    return this;
  }

  /**
   * Sets the room of each sequence's prompt lookup, which takes 132 bytes a token.
   *
   * @param lookupTokens 0, the default: no sequence has {@link DraftSource#PROMPT_LOOKUP}
   * @return this
   */
  public SessionOptions lookupTokens(int lookupTokens) {
    this.lookupTokens = lookupTokens;
    return this;
  }

  /**
   * Sets how many end tokens a sequence has at most.
   *
   * @param maxEndTokens in [0, 2^20]
   * @return this
   */
  public SessionOptions maxEndTokens(int maxEndTokens) {
    this.maxEndTokens = maxEndTokens;
    return this;
  }

  /**
   * Sets how many stop sequences a sequence has at most.
   *
   * @param maxStopSequences in [0, 2^20]
   * @return this
   */
  public SessionOptions maxStopSequences(int maxStopSequences) {
    this.maxStopSequences = maxStopSequences;
    return this;
  }

  /**
   * Sets how many tokens all stop sequences of a sequence have at most.
   *
   * @param maxStopTokens in [0, 2^20]
   * @return this
   */
  public SessionOptions maxStopTokens(int maxStopTokens) {
    this.maxStopTokens = maxStopTokens;
    return this;
  }

  /**
   * Sets how many first tokens a step can report at most.
   *
   * @param maxTopLogprobs at most the vocabulary's size
   * @return this
   */
  public SessionOptions maxTopLogprobs(int maxTopLogprobs) {
    this.maxTopLogprobs = maxTopLogprobs;
    return this;
  }

  /**
   * Sets rules, orders and stages of all sequences, and the numbers of those without their own. The
   * guidance must be off.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public SessionOptions params(Params params) {
    this.params = params;
    return this;
  }

  /**
   * Sets lists and masks of the stages, by slot: the slot is the sequence's number. Arrays must be
   * direct buffers, on a CUDA sampler addresses of device memory, which the session reads in each
   * advance and keeps reachable. History, prompt
   * lengths, adaptive values, a state, mask indices and guidance must be left out.
   *
   * @param pipeline null, the default: none
   * @return this
   */
  public SessionOptions pipeline(Pipeline pipeline) {
    this.pipeline = pipeline;
    return this;
  }

  /**
   * Sets the rule of verification of sequences without one of their own, and the numbers of all
   * rules. Without rates no sequence has {@link Acceptance#SYNTHETIC}.
   *
   * @param acceptance null, the default: {@link Acceptance#SAMPLE_MATCH}
   * @return this
   */
  public SessionOptions acceptance(AcceptanceParams acceptance) {
    this.acceptance = acceptance;
    return this;
  }

  /**
   * Lets sequences have {@link AddArgs#draftTopK}.
   *
   * @param hasDraftTrees false by default
   * @return this
   */
  public SessionOptions hasDraftTrees(boolean hasDraftTrees) {
    this.hasDraftTrees = hasDraftTrees;
    return this;
  }

  /**
   * Lets sequences have {@link AddArgs#adaptiveGamma}, which takes a row of f32 and 20 KB.
   *
   * @param hasAdaptiveGamma false by default
   * @return this
   */
  public SessionOptions hasAdaptiveGamma(boolean hasAdaptiveGamma) {
    this.hasAdaptiveGamma = hasAdaptiveGamma;
    return this;
  }

  /**
   * Sets what n-grams learn of each new position: {@code fillerTopK} of the target's likeliest
   * tokens, and then, where it is not among them, the token that came.
   *
   * @param fillerTopK in [0, 2^20); 0, the default: the token that came alone
   * @return this
   */
  public SessionOptions fillerTopK(int fillerTopK) {
    this.fillerTopK = fillerTopK;
    return this;
  }

  /**
   * Lets sequences have {@link AddArgs#unmask}, which takes about 50 bytes for each of maxDrafts
   * + 1 positions of each sequence.
   *
   * @param hasBlocks false by default
   * @return this
   */
  public SessionOptions hasBlocks(boolean hasBlocks) {
    this.hasBlocks = hasBlocks;
    return this;
  }

  /**
   * Sets of which distribution the probabilities and entropies are that are the confidences of
   * blocks.
   *
   * @param confidenceKind RAW by default
   * @return this
   */
  public SessionOptions confidenceKind(LogprobKind confidenceKind) {
    this.confidenceKind = Arguments.required("confidenceKind", confidenceKind);
    return this;
  }

  /**
   * Sets the clock of {@link GammaRule#MEASURED}.
   *
   * @param function the address of a C function, a sampler_clock_fn; 0, the default: the system's
   *     monotonic clock
   * @param user what it gets
   * @return this
   */
  public SessionOptions clock(long function, long user) {
    this.clock = function;
    this.clockUser = user;
    return this;
  }

  /**
   * Sets the stream of all of the session's work on a CUDA sampler, in whose order logits are read.
   * It outlives the session.
   *
   * @param stream a cudaStream_t as a number; 0, the default, is the legacy default stream
   * @return this
   */
  public SessionOptions stream(long stream) {
    this.stream = stream;
    return this;
  }

  /** Writes what C gets, from memory that the call's buffers keep. */
  void write(Call call, Buffers buffers) {
    final int at = Call.ARGS;
    call.put(at + Layout.SESSION_OPTIONS_STRUCT_SIZE, (long) Layout.SESSION_OPTIONS_SIZE);
    final long numSlots = call.putLong(at + Layout.SESSION_OPTIONS_MAX_SEQUENCES, maxSequences);
    call.put(at + Layout.SESSION_OPTIONS_MAX_CONTEXT, (long) maxContext);
    final long numCols =
        call.putLong(at + Layout.SESSION_OPTIONS_VOCABULARY_SIZE, vocabularySize);
    final long numDrafts = call.putLong(at + Layout.SESSION_OPTIONS_MAX_DRAFTS, maxDrafts);
    call.put(at + Layout.SESSION_OPTIONS_DRAFTER_CONTEXT, (long) drafterContext);
    call.put(at + Layout.SESSION_OPTIONS_LOOKUP_TOKENS, (long) lookupTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_END_TOKENS, (long) maxEndTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_STOP_SEQUENCES, (long) maxStopSequences);
    call.put(at + Layout.SESSION_OPTIONS_MAX_STOP_TOKENS, (long) maxStopTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_TOP_LOGPROBS, (long) maxTopLogprobs);
    call.put(at + Layout.SESSION_OPTIONS_LOGITS_DTYPE, logitsType.ordinal());
    call.put(at + Layout.SESSION_OPTIONS_KEEP_DRAFTER_ROWS, keepDrafterRows ? 1 : 0);
    call.params(at + Layout.SESSION_OPTIONS_PARAMS, params);
    call.pipeline(at + Layout.SESSION_OPTIONS_PIPELINE, pipeline, numCols, numSlots);
    call.acceptance(at + Layout.SESSION_OPTIONS_ACCEPTANCE, acceptance, numDrafts, buffers);
    call.put(at + Layout.SESSION_OPTIONS_HAS_DRAFT_TREES, hasDraftTrees ? 1 : 0);
    call.put(at + Layout.SESSION_OPTIONS_HAS_ADAPTIVE_GAMMA, hasAdaptiveGamma ? 1 : 0);
    call.put(at + Layout.SESSION_OPTIONS_CLOCK, clock);
    call.put(at + Layout.SESSION_OPTIONS_CLOCK_USER, clockUser);
    call.put(at + Layout.SESSION_OPTIONS_STREAM, stream);
    call.put(at + Layout.SESSION_OPTIONS_FILLER_TOP_K, (long) fillerTopK);
    call.put(at + Layout.SESSION_OPTIONS_HAS_BLOCKS, hasBlocks ? 1 : 0);
    call.put(at + Layout.SESSION_OPTIONS_CONFIDENCE_KIND, confidenceKind.ordinal());
  }
}
