package io.github.libsampler;

/**
 * Rows of logits or probabilities. Brackets are an array's dimensions.
 *
 * <p>An object is made once and serves any number of calls. Other threads may change it between
 * calls, not during one.
 */
public final class Rows {
  static final Rows NONE = new Rows();

  Array values;
  int numRows;
  int numCols;
  long rowStride;
  Array candidateIds;
  Array candidateCounts;
  InputKind kind = InputKind.LOGITS;

  /** Creates no rows. */
  public Rows() {}

  /**
   * Creates rows, one after the other.
   *
   * @param values [numRows, numCols] logits, unless {@link #kind} says otherwise
   * @param numRows with 0 a call does nothing
   * @param numCols the vocabulary, in [1, 2^20)
   */
  public Rows(float[] values, int numRows, int numCols) {
    this(Array.f32(values), numRows, numCols);
  }

  /**
   * Creates rows, one after the other.
   *
   * @param values [numRows, numCols] logits, unless {@link #kind} says otherwise
   * @param numRows with 0 a call does nothing
   * @param numCols the vocabulary, in [1, 2^20)
   */
  public Rows(Array values, int numRows, int numCols) {
    this.values = values;
    this.numRows = numRows;
    this.numCols = numCols;
  }

  /**
   * Sets the logits or probabilities. Never written.
   *
   * @param values [numRows, numCols] F32, F16 or BF16. Required, unless there are no rows
   * @return this
   */
  public Rows values(Array values) {
    this.values = values;
    return this;
  }

  /**
   * Sets how many rows there are.
   *
   * @param numRows with 0 a call does nothing
   * @return this
   */
  public Rows numRows(int numRows) {
    this.numRows = numRows;
    return this;
  }

  /**
   * Sets the columns: the vocabulary, or the room for candidates.
   *
   * @param numCols in [1, 2^20)
   * @return this
   */
  public Rows numCols(int numCols) {
    this.numCols = numCols;
    return this;
  }

  /**
   * Sets the distance of two rows in elements.
   *
   * @param rowStride at least numCols; 0, the default, is numCols
   * @return this
   */
  public Rows rowStride(long rowStride) {
    this.rowStride = rowStride;
    return this;
  }

  /**
   * Sets candidate lists, laid out like the values: the token id of each element, in [0, 2^20),
   * in any order, none twice in a row.
   *
   * @param candidateIds [numRows, numCols] I32 or I64; null, the default: none
   * @return this
   */
  public Rows candidateIds(Array candidateIds) {
    this.candidateIds = candidateIds;
    return this;
  }

  /**
   * Sets how many elements each row has, in [0, numCols]: with candidate ids the length of each
   * list, without of each row.
   *
   * @param candidateCounts [numRows] I32; null, the default: none
   * @return this
   */
  public Rows candidateCounts(Array candidateCounts) {
    this.candidateCounts = candidateCounts;
    return this;
  }

  /**
   * Sets what the numbers mean.
   *
   * @param kind LOGITS by default
   * @return this
   */
  public Rows kind(InputKind kind) {
    this.kind = Arguments.required("kind", kind);
    return this;
  }
}
