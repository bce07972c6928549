package io.github.libsampler;

/**
 * Arguments of a call of a {@link State} on rows, each of a slot.
 *
 * @param <T> the class of the arguments
 */
public abstract class StateArguments<T extends StateArguments<T>> extends Arguments {
  Exec exec = Exec.DEFAULT;
  Array slots;
  int numRows;
  Array outRowStatus;

  StateArguments() {}

  abstract T self();

  /**
   * Sets the stream. No call of a state needs a workspace.
   *
   * @param exec null, the default: that of the sampler
   * @return this
   */
  public T exec(Exec exec) {
    this.exec = exec == null ? Exec.DEFAULT : exec;
    return self();
  }

  /**
   * Sets the slot of each row.
   *
   * @param slots [numRows] I32; null, the default: row i has slot i
   * @return this
   */
  public T slots(Array slots) {
    this.slots = slots;
    return self();
  }

  /**
   * Sets how many rows there are.
   *
   * @param numRows 0, the default: as many as there are slots, of which device memory does not tell
   *     the number
   * @return this
   */
  public T numRows(int numRows) {
    this.numRows = numRows;
    return self();
  }

  /**
   * Sets where the bits of {@link RowStatus} go.
   *
   * @param outRowStatus [numRows] I32; null, the default: none
   * @return this
   */
  public T outRowStatus(Array outRowStatus) {
    this.outRowStatus = outRowStatus;
    return self();
  }
}
