/**
 * libsampler for Java: turns logits into tokens. {@link io.github.libsampler.Sampler} is where to
 * start.
 */
package io.github.libsampler;
