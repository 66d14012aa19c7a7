// The key of an instruction in the table, independent of the order of its modifiers.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::emulator {

/// `key` with the modifiers behind the family in alphabetical order and the types, in their order,
/// behind them: PTX texts have modifiers in any order. Each row stands under this spelling too.
std::string canonical_key(std::string_view key);

}  // namespace gpuemu::emulator
