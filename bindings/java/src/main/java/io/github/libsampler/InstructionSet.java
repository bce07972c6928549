package io.github.libsampler;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** Instruction sets that CPU rows can be computed with. The tokens are the same. */
public enum InstructionSet {
  /** None in particular. */
  SCALAR,
  /** AVX2, FMA and F16C. */
  AVX2,
  /** AVX-512 F, BW, DQ and VL, and what AVX2 stands for. */
  AVX512,
  /** NEON of aarch64. */
  NEON;

  /** The sets of SAMPLER_ISA_ bits. */
  static Set<InstructionSet> setOf(int bits) {
    final EnumSet<InstructionSet> set = EnumSet.noneOf(InstructionSet.class);
    for (InstructionSet isa : values()) {
      if ((bits >> isa.ordinal() & 1) != 0) {
        set.add(isa);
      }
    }
    return Collections.unmodifiableSet(set);
  }
}
