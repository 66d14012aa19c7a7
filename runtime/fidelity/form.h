// Says of a form of an instruction (its opcode, types and modifiers) how far the bits that the
// emulator gives are known to be those of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuemu {

enum class FidelityClass : uint8_t {
  Exact,     ///< The recorded answers of a GPU have this form, bit for bit.
  Defined,   ///< The PTX ISA alone fixes the bits.
  Modelled,  ///< The ISA leaves bits open, and no answer of the emulated architecture is recorded.
  Unsupported,  ///< The emulator refuses it.
};
/// "exact"
std::string_view name_of(FidelityClass what);

struct FormFidelity {
  FidelityClass what = FidelityClass::Defined;
  std::string why;
  bool of_architecture = false;  ///< Another architecture may give other bits.
};
/// `form` is written as in PTX: "ex2.approx.ftz.f32". `sm` is the emulated architecture.
FormFidelity fidelity_of(std::string_view form, int sm);

/// Returns a form as lists have it, that of a matrix product without what all of them have:
/// "mma.m16n8k16.f16", where the last is the type of the first factor.
std::string short_name(const std::string& form);

}  // namespace gpuemu
