// The key of an instruction in the handlers' table, independent of the order of its modifiers.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::emulator {

/// Returns `key` with the modifiers after the opcode sorted alphabetically, followed by the types
/// in their order, because PTX allows modifiers in any order. Each row is also stored under this
/// spelling.
std::string canonical_key(std::string_view key);

}  // namespace gpuemu::emulator
