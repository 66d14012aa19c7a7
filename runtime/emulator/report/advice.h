// Suggests how to fix a race, in terms of the language that the kernel is written in.
#pragma once

#include <string_view>

#include "runtime/ptx/language.h"

namespace gpuemu::ptx {
struct Instruction;
}  // namespace gpuemu::ptx

namespace gpuemu::emulator {

/// The barrier of a block: "__syncthreads()".
std::string_view block_barrier(ptx::Language language);
/// The barrier of one warp: "__syncwarp()".
std::string_view warp_barrier(ptx::Language language);

enum class GlobalRace : uint8_t {
  InBlock,
  InOneLine,  ///< Threads of one block run the same line: no barrier fits between.
  BetweenBlocks,
  NarrowAtomic,  ///< An atomic of block scope meets another block.
  ReadOnly,      ///< ld.global.nc reads what the launch writes.
};
std::string_view advice_on(GlobalRace race, ptx::Language language);

/// Whether both are of one line of the source, or one instruction where no line is known.
bool in_one_line(const ptx::Instruction& one, const ptx::Instruction* other);

}  // namespace gpuemu::emulator
