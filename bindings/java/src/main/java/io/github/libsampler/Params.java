package io.github.libsampler;

/**
 * The temperature, the filters, and how they combine.
 */
public final class Params {
  float temperature = 1;
  float topP = 1;
  float minP;
  int topK;
  TieRule topKTies = TieRule.EXACT;
  TieRule topPTies = TieRule.EXACT;
  FilterOrder filterOrder = FilterOrder.SEQUENTIAL;
  TemperatureOrder temperatureOrder = TemperatureOrder.FIRST;

  /** Creates temperature 1 and no filter. */
  public Params() {}

  /**
   * Sets what logits are divided by. At most 1e-5: greedy. Of probabilities it must be 1, or
   * greedy.
   *
   * @param temperature 1 by default
   * @return this
   */
  public Params temperature(float temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Keeps the fewest first tokens whose probability is at least topP.
   *
   * @param topP &gt;= 1, the default: off; &lt;= 0: one token
   * @return this
   */
  public Params topP(float topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Keeps the tokens at least minP times as likely as the likeliest one.
   *
   * @param minP &lt;= 0, the default: off
   * @return this
   */
  public Params minP(float minP) {
    this.minP = minP;
    return this;
  }

  /**
   * Keeps the first topK tokens by value, then id.
   *
   * @param topK &lt;= 0, the default, or &gt;= numCols: off
   * @return this
   */
  public Params topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Sets what top-k does with tokens that equal the last kept one.
   *
   * @param topKTies EXACT by default
   * @return this
   */
  public Params topKTies(TieRule topKTies) {
    this.topKTies = Arguments.required("top_k_ties", topKTies);
    return this;
  }

  /**
   * Sets what top-p does with tokens that equal the last kept one.
   *
   * @param topPTies EXACT by default
   * @return this
   */
  public Params topPTies(TieRule topPTies) {
    this.topPTies = Arguments.required("top_p_ties", topPTies);
    return this;
  }

  /**
   * Sets which filter sees what.
   *
   * @param filterOrder SEQUENTIAL by default
   * @return this
   */
  public Params filterOrder(FilterOrder filterOrder) {
    this.filterOrder = Arguments.required("filter_order", filterOrder);
    return this;
  }

  /**
   * Sets when the temperature applies.
   *
   * @param temperatureOrder FIRST by default
   * @return this
   */
  public Params temperatureOrder(TemperatureOrder temperatureOrder) {
    this.temperatureOrder = Arguments.required("temperature_order", temperatureOrder);
    return this;
  }
}
