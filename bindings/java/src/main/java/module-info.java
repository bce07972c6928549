/** libsampler for Java: turns logits into tokens. */
module io.github.libsampler {
  exports io.github.libsampler;
}
