// Selects whether a multiplication and an addition without a rounding modifier may become one fma.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuemu {

enum class Contraction : uint8_t {
  Auto,    ///< Emulator: never. CUDA: as the driver's compiler decides, which is what users ship.
  Never,   ///< Product and sum are each rounded.
  Always,  ///< Fused wherever the driver's compiler would be allowed to.
  Random,  ///< Emulator: as Always, but only at instructions drawn from a seed. CUDA: as Auto.
};

std::string_view name_of(Contraction contraction);  ///< "auto"
std::optional<Contraction> contraction_from_name(std::string_view name);

}  // namespace gpuemu
