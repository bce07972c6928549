package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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
    final ByteBuffer c =
        ByteBuffer.allocateDirect(Layout.CAPABILITIES_SIZE).order(ByteOrder.nativeOrder());
    c.putLong(Layout.CAPABILITIES_STRUCT_SIZE, Layout.CAPABILITIES_SIZE);
    Raw.shimGetCapabilities(Raw.javaAddress(c));
    return new Capabilities(
        c.getInt(Layout.CAPABILITIES_VERSION),
        c.getInt(Layout.CAPABILITIES_ABI_VERSION),
        InstructionSet.setOf(c.getInt(Layout.CAPABILITIES_ISA_COMPILED)),
        InstructionSet.setOf(c.getInt(Layout.CAPABILITIES_ISA_USABLE)),
        InstructionSet.setOf(c.getInt(Layout.CAPABILITIES_ISA_ACTIVE)),
        c.getInt(Layout.CAPABILITIES_CUDA_COMPILED) != 0,
        c.getInt(Layout.CAPABILITIES_NUM_CUDA_DEVICES),
        c.getInt(Layout.CAPABILITIES_NUM_PROCESSORS));
  }
}
