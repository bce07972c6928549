package io.github.libsampler;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * What is remembered of sequences, a slot for each: their tokens, where the prompt ends, how often
 * each token has occurred, and the values of adaptive stages. Made by {@link Sampler#newState}.
 *
 * <p>{@link Pipeline#state} gives it to a draw. What was drawn enters by {@link #accept} only, so
 * drawing twice changes nothing.
 *
 * <p>Its calls are calls of its sampler and wait for that one's other calls; they throw what those
 * throw, and {@link IllegalStateException} also when the state is closed. They allocate nothing,
 * but for {@link #serialize} and {@link #deserialize}. A bad slot makes its row bad (INVALID_SLOT);
 * a bad row changes nothing. A slot that a call which changes it names twice has undefined
 * contents.
 *
 * <p>A state keeps its sampler reachable; closing the sampler closes it. One that is never closed
 * is closed some time after it is no longer reachable.
 */
public final class State implements AutoCloseable {
  /**
   * How many adaptive values a slot has: mirostat's mu; adaptive-p's weighted sum and total weight;
   * the running top-p.
   */
  public static final int NUM_ADAPTIVE_VALUES = 4;

  final StateMemory memory;
  private final Sampler sampler;
  private final Cleaner.Cleanable cleanable;

  State(Sampler sampler, StateMemory memory, Cleaner cleaner) {
    this.sampler = sampler;
    this.memory = memory;
    this.cleanable = cleaner.register(this, memory);
  }

  /**
   * Appends a prompt, or text that was not drawn here. Adaptive values stay as they are.
   *
   * @param args the arguments
   */
  public void append(AppendArgs args) {
    call(args);
  }

  /**
   * Accepts what was drawn: the tokens enter text and counts, and adaptive values move on.
   *
   * @param args the arguments
   */
  public void accept(AcceptArgs args) {
    call(args);
  }

  /**
   * Forgets the tokens after the first ones, as if they had never come. Prompts may be cut, too.
   *
   * @param args the arguments
   */
  public void truncate(TruncateArgs args) {
    call(args);
  }

  /**
   * Copies sequences into slots of this state: beams, several continuations of a prompt, a larger
   * state. Adaptive values of earlier tokens are copied where both states keep them; where only
   * this one does, they are the source's present ones.
   *
   * @param args the arguments
   */
  public void copy(CopyArgs args) {
    call(args);
  }

  /**
   * Empties slots for new sequences.
   *
   * @param args the arguments
   */
  public void reset(ResetArgs args) {
    call(args);
  }

  /**
   * Writes what slots hold.
   *
   * @param args the arguments
   */
  public void read(ReadArgs args) {
    call(args);
  }

  /**
   * Gives the sequences of slots [firstSlot, firstSlot + numSlots).
   *
   * @param firstSlot the first of them
   * @param numSlots how many
   * @return bytes in a format that is the same on every machine
   */
  public byte[] serialize(int firstSlot, int numSlots) {
    try {
      return memory.handle.serialize(memory, firstSlot, numSlots);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Puts serialised sequences into the slots from firstSlot on, in place of what they hold. Every
   * byte is checked; on failure all slots are as before.
   *
   * @param firstSlot the first slot that is set
   * @param data what {@link #serialize} gave
   * @return how many slots were set
   * @throws InvalidArgumentException more slots or longer sequences than the state has room for
   * @throws SamplerException {@link Status#CORRUPT_DATA}
   */
  public int deserialize(int firstSlot, byte[] data) {
    Arguments.required("data", data);
    try {
      return memory.handle.deserialize(memory, firstSlot, data);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Releases the state's memory, after the call that is running. The second time, and after the
   * sampler was closed, it does nothing.
   */
  @Override
  public void close() {
    cleanable.clean();
  }

  private void call(Arguments args) {
    Arguments.required("args", args);
    try {
      memory.handle.call(args, memory);
    } finally {
      // Else the cleaners might close them before the call has begun.
      Reference.reachabilityFence(this);
      Reference.reachabilityFence(sampler);
    }
  }
}
