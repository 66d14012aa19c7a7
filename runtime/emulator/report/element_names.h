// Names elements of tensors and source lines of instructions in messages.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// Returns for example " (element 3)" for a byte offset in a tensor; "" if the element size is
/// unknown (0).
std::string element_text(uint64_t offset, uint32_t element);

/// Returns the last part of a mangled variable name: "tile" for "_ZZ1kPfE4tile".
std::string short_name(const std::string& mangled);

/// A line of a source file; 0 and "" if the PTX has no line information.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
};
/// Returns the innermost line outside toolkit headers; the outermost line if all are inside.
SourcePlace source_place(const ptx::Module& module, const ptx::Instruction& instruction);

}  // namespace gpuemu::emulator
