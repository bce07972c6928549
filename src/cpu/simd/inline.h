// Declarations for functions of units that are compiled for one instruction set.
//
// Such a unit must not define symbols with external linkage: another unit could be linked to them
// and run unsupported instructions on an older processor. So everything in it has internal linkage,
// and it calls no inline function of the contract or the standard library.
#pragma once

#define SAMPLER_INLINE inline __attribute__((always_inline))
#define SAMPLER_INLINE_LAMBDA __attribute__((always_inline))
