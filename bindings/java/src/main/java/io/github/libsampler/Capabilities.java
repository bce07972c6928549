package io.github.libsampler;

import io.github.libsampler.internal.Raw;
import java.util.Set;

/**
 * What this build and machine offer.
 *
 * @param version of the library: major * 10000 + minor * 100 + patch
 * @param abiVersion the number in the library's SONAME
 * @param isaCompiled instruction sets that the library has code for
 * @param isaUsable those that this machine can run
 * @param isaActive the one that a sampler created now would use; none when the environment variable
 *     SAMPLER_ISA names none that is usable
 * @param cudaCompiled whether the library was built with CUDA
 * @param numCudaDevices how many CUDA devices a sampler can be created for
 * @param numProcessors processors that the calling thread may run on, at least 1
 */
public record Capabilities(
    int version,
    int abiVersion,
    Set<InstructionSet> isaCompiled,
    Set<InstructionSet> isaUsable,
    Set<InstructionSet> isaActive,
    boolean cudaCompiled,
    int numCudaDevices,
    int numProcessors) {

  static Capabilities ofThisMachine() {
    return new Capabilities(
        Raw.shimCapabilityVersion(),
        Raw.shimCapabilityAbiVersion(),
        InstructionSet.setOf(Raw.shimCapabilityIsaCompiled()),
        InstructionSet.setOf(Raw.shimCapabilityIsaUsable()),
        InstructionSet.setOf(Raw.shimCapabilityIsaActive()),
        Raw.shimCapabilityCudaCompiled() != 0,
        Raw.shimCapabilityNumCudaDevices(),
        Raw.shimCapabilityNumProcessors());
  }
}
