// How functions of the units that are compiled for one instruction set are declared.
//
// Such a unit must define no symbol that another unit could be linked with: on an older processor
// the other unit would then run its instructions. So everything in it has internal linkage, and it
// calls no inline function of the contract or of the standard library.
#pragma once

#define SAMPLER_INLINE inline __attribute__((always_inline))
#define SAMPLER_INLINE_LAMBDA __attribute__((always_inline))
