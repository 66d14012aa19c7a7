// The instruction sets for which code is compiled.
#pragma once

#include <cstdint>

namespace gpuemu::emulator {

enum class Target : uint8_t { Avx2, Avx512 };

}  // namespace gpuemu::emulator
