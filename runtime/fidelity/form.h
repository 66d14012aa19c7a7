// Classifies a form of an instruction (its opcode, types and modifiers) by how certain it is that
// the emulator's results match a GPU's bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuemu {

enum class FidelityClass : uint8_t {
  Exact,        ///< Recorded results of a GPU match this form bit for bit.
  Defined,      ///< The PTX ISA alone determines the bits.
  Modelled,     ///< The ISA leaves bits open, and no results of the emulated architecture are
                ///< recorded.
  Unsupported,  ///< The emulator refuses it.
};
/// Returns for example "exact".
std::string_view name_of(FidelityClass what);

struct FormFidelity {
  FidelityClass what = FidelityClass::Defined;
  std::string why;
  bool of_architecture = false;  ///< Other architectures may give other bits.
};
/// `form` is spelled as in PTX, such as "ex2.approx.ftz.f32". `sm` is the emulated architecture.
FormFidelity fidelity_of(std::string_view form, int sm);

/// Returns a form as lists show it. Matrix products are abbreviated, as in "mma.m16n8k16.f16",
/// where the type is that of the first factor.
std::string short_name(const std::string& form);

}  // namespace gpuemu
