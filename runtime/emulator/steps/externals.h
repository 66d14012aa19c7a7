// Functions without a body that kernels call and the driver supplies.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Requires is_external(site.external).
void call_external(Warp& warp, const Step& step, const CallSite& site);

void print(Warp& warp, const Step& step, const CallSite& site);          // printf.cc
void assert_failed(Warp& warp, const Step& step, const CallSite& site);  // printf.cc
void take_memory(Warp& warp, const Step& step, const CallSite& site);    // heap.cc
void free_memory(Warp& warp, const Step& step, const CallSite& site);    // heap.cc

/// Returns the low 64 bits of argument `which` of one lane; 0 if there is none.
uint64_t argument(Warp& warp, const CallSite& site, size_t which, uint32_t lane);
/// Sets the return value of one lane.
void give_back(Warp& warp, const CallSite& site, uint32_t lane, uint64_t value);

}  // namespace gpuemu::emulator::steps
