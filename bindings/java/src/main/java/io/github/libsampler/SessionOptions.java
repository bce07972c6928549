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
   * Lets sequences have {@link DraftVerification#STANDARD}.
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
   * Sets rules, orders and stages of all sequences, and the numbers of those without their own.
   *
   * @param params null, the default: temperature 1 and no filter
   * @return this
   */
  public SessionOptions params(Params params) {
    this.params = params;
    return this;
  }

  /** Returns the address of what C gets. */
  long write(Call call) {
    final int at = Call.ARGS;
    call.put(at + Layout.SESSION_OPTIONS_STRUCT_SIZE, (long) Layout.SESSION_OPTIONS_SIZE);
    call.put(at + Layout.SESSION_OPTIONS_MAX_SEQUENCES, (long) maxSequences);
    call.put(at + Layout.SESSION_OPTIONS_MAX_CONTEXT, (long) maxContext);
    call.put(at + Layout.SESSION_OPTIONS_VOCABULARY_SIZE, (long) vocabularySize);
    call.put(at + Layout.SESSION_OPTIONS_MAX_DRAFTS, (long) maxDrafts);
    call.put(at + Layout.SESSION_OPTIONS_DRAFTER_CONTEXT, (long) drafterContext);
    call.put(at + Layout.SESSION_OPTIONS_LOOKUP_TOKENS, (long) lookupTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_END_TOKENS, (long) maxEndTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_STOP_SEQUENCES, (long) maxStopSequences);
    call.put(at + Layout.SESSION_OPTIONS_MAX_STOP_TOKENS, (long) maxStopTokens);
    call.put(at + Layout.SESSION_OPTIONS_MAX_TOP_LOGPROBS, (long) maxTopLogprobs);
    call.put(at + Layout.SESSION_OPTIONS_LOGITS_DTYPE, logitsType.ordinal());
    call.put(at + Layout.SESSION_OPTIONS_KEEP_DRAFTER_ROWS, keepDrafterRows ? 1 : 0);
    call.params(at + Layout.SESSION_OPTIONS_PARAMS, params);
    call.put(at + Layout.SESSION_OPTIONS_PIPELINE, 0L);
    // Numbers of rules of acceptance, and trees: none.
    for (int i = Layout.SESSION_OPTIONS_TYPICAL_THRESHOLD; i < Layout.SESSION_OPTIONS_SIZE;
        i += Long.BYTES) {
      call.put(at + i, 0L);
    }
    return call.argsAddress();
  }
}
