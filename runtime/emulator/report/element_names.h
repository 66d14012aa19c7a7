// How messages name an element of a tensor, and the source line of an instruction.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// " (element 3)" for a byte offset into a tensor; "" for elements of unknown size (0).
std::string element_text(uint64_t offset, uint32_t element);

/// The last part of what a compiler made of a variable's name: "tile" of "_ZZ1kPfE4tile".
std::string short_name(const std::string& mangled);

/// A line of a source file; 0 and "" if the PTX does not say.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
};
/// The innermost line outside of toolkit headers; the outermost line if all are inside.
SourcePlace source_place(const ptx::Module& module, const ptx::Instruction& instruction);

}  // namespace gpuemu::emulator
