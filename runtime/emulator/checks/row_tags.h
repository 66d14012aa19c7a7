// What compiled code needs of the race detector for global memory.
#pragma once

namespace gpuemu::emulator {

class Warp;

/// Calls GlobalRaces::prepare_rows(). REQUIRES: the launch checks races of global memory.
void prepare_row_tags(Warp& warp);

}  // namespace gpuemu::emulator
