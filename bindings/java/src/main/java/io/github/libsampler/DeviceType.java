package io.github.libsampler;

/** Where the arrays of a sampler's calls live. */
public enum DeviceType {
  /** Host memory: arrays and direct buffers. */
  CPU,
  /** Memory of the sampler's CUDA device: addresses. */
  CUDA
}
