package io.github.libsampler;

/**
 * Parameters by slot, by row where the call has no slots: [number of slots] each. Those left out
 * are of {@link Params} for all. Arrays or buffers on a CUDA sampler with {@code hostParameters}.
 */
public final class RowParams {
  Array temperature;
  Array topP;
  Array minP;
  Array topK;

  /** Creates none. */
  public RowParams() {}

  /**
   * Sets the temperatures.
   *
   * @param temperature [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams temperature(Array temperature) {
    this.temperature = temperature;
    return this;
  }

  /**
   * Sets the values of topP.
   *
   * @param topP [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams topP(Array topP) {
    this.topP = topP;
    return this;
  }

  /**
   * Sets the values of minP.
   *
   * @param minP [number of slots] F32; null, the default: none
   * @return this
   */
  public RowParams minP(Array minP) {
    this.minP = minP;
    return this;
  }

  /**
   * Sets the values of topK.
   *
   * @param topK [number of slots] I32; null, the default: none
   * @return this
   */
  public RowParams topK(Array topK) {
    this.topK = topK;
    return this;
  }
}
