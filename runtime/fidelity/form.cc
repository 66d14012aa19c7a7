#include "runtime/fidelity/form.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ptx/isa/modifier.h"
#include "runtime/ptx/isa/opcode.h"
#include "runtime/ptx/module.h"

namespace gpuemu {
namespace {

using ptx::Modifier;
using ptx::Trait;

struct Form {
  ptx::Opcode opcode = ptx::Opcode::Unknown;
  std::string_view name;
  ptx::Modifiers modifiers;

  const ptx::InstructionInfo& info() const { return ptx::info(opcode); }
  bool has(Modifier one) const { return modifiers.has(one); }
  bool has(Trait one) const { return info().traits.has(one); }
};

Form parsed(std::string_view text) {
  Form made;
  made.name = text.substr(0, text.find('.'));
  made.opcode = ptx::opcode_of(made.name);
  for (size_t at = made.name.size(); at < text.size();) {
    const size_t end = std::min(text.find('.', at + 1), text.size());
    made.modifiers.add(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return made;
}

bool is_float(ptx::Type type) {
  switch (type) {
    case ptx::Type::F16:
    case ptx::Type::F16x2:
    case ptx::Type::BF16:
    case ptx::Type::BF16x2:
    case ptx::Type::F32:
    case ptx::Type::F64:
    case ptx::Type::TF32:
    case ptx::Type::E4M3x2:
    case ptx::Type::E5M2x2:
    case ptx::Type::E4M3:
    case ptx::Type::E5M2:
      return true;
    default:
      return false;
  }
}

bool has_float(const Form& form) {
  return std::ranges::any_of(form.modifiers, [](const std::string& text) {
    const auto type = ptx::type_from_name(text);
    return type && is_float(*type);
  });
}

bool has_rounding(const Form& form) {
  return form.has(Modifier::Rn) || form.has(Modifier::Rz) || form.has(Modifier::Rm) ||
         form.has(Modifier::Rp);
}

bool is_approximation(const Form& form) {
  return form.has(Modifier::Approx) || form.has(Modifier::Full) ||
         (form.has(Trait::SpecialFunction) && !has_rounding(form));
}

bool is_matrix_sum(const Form& form) {
  return form.has(Trait::MatrixProduct) && !form.has(Modifier::Load) &&
         !form.has(Modifier::Store) && has_float(form);
}

bool is_float_sum_of_threads(const Form& form) {
  const bool is_atomic = form.info().what == ptx::OpcodeClass::Atomic || form.has(Modifier::Reduce);
  // The element type is in the tensor map and may be a float.
  return is_atomic && form.has(Modifier::Add) && (has_float(form) || form.has(Modifier::Tensor));
}

/// Returns whether the result depends on which threads of a warp run together.
bool asks_who_runs(const Form& form) {
  return form.info().what == ptx::OpcodeClass::Warp && form.has(Trait::FreshResult) &&
         !form.has(Trait::TakesMembers);
}

/// Why the ISA leaves bits of the result open.
struct Open {
  const char* why = nullptr;  ///< Null if it does not.
  bool of_architecture =
      false;  ///< Equal in all threads of an architecture, so it can be recorded.
};

Open open_bits(const Form& form) {
  if (is_matrix_sum(form)) return {"a tensor-core sum, of which the ISA fixes no order", true};
  if (is_float_sum_of_threads(form)) return {"threads add floats in an order that is not fixed"};
  if (is_approximation(form)) return {"an approximation, of which the ISA bounds the error", true};
  if (form.opcode == ptx::Opcode::Tex || form.opcode == ptx::Opcode::Tld4) {
    return {"a texture filter, whose precision the ISA leaves open", true};
  }
  if (asks_who_runs(form)) return {"which threads run together is up to the GPU"};
  return {};
}

/// Returns a type's name for instructions that move values unchanged: "b32" for "f32" and "u32".
/// Types that are sign-extended keep their name.
std::string type_as_bits(const std::string& type) {
  const bool is_plain = type == "f32" || type == "f64" || type == "u8" || type == "u16" ||
                        type == "u32" || type == "u64";
  return is_plain ? "b" + type.substr(1) : type;
}

/// Returns a key that is the same for all spellings of one operation: modifiers are sorted, and a
/// rounding that is the operation's default is left out.
std::string key_of(const Form& form) {
  const bool moves = form.info().what == ptx::OpcodeClass::Memory || form.has(Trait::CarriesValue);
  std::vector<std::string> modifiers, types;
  for (const std::string& text : form.modifiers) {
    if (ptx::type_from_name(text)) {
      types.push_back(moves ? type_as_bits(text) : text);
    } else if (text != "rn" || !form.has(Trait::FloatArithmetic)) {
      modifiers.push_back(text);
    }
  }
  std::ranges::sort(modifiers);
  return fmt::format("{} {} {}", form.name, fmt::join(modifiers, "."), fmt::join(types, "."));
}

struct Row {
  const char* form;
  int sm;  ///< Architecture of the GPU whose results were recorded.
};
constexpr Row kRecorded[] = {
#define CHIP(sm, name)
#define RECORDED_FORM(form, sm) {form, sm},
#define TESTED_FORM(form)
#include "runtime/fidelity/forms.def"
#undef CHIP
#undef RECORDED_FORM
#undef TESTED_FORM
};
constexpr const char* kTested[] = {
#define CHIP(sm, name)
#define RECORDED_FORM(form, sm)
#define TESTED_FORM(form) form,
#include "runtime/fidelity/forms.def"
#undef CHIP
#undef RECORDED_FORM
#undef TESTED_FORM
};

/// Returns for example "NVIDIA H200 (sm_90)".
std::string chip_name(int sm) {
  switch (sm) {
#define CHIP(of_sm, name) \
  case of_sm:             \
    return fmt::format("{} (sm_{})", name, sm);
#define RECORDED_FORM(form, sm)
#define TESTED_FORM(form)
#include "runtime/fidelity/forms.def"
#undef CHIP
#undef RECORDED_FORM
#undef TESTED_FORM
    default:
      return fmt::format("GPU (sm_{})", sm);
  }
}

/// The content of forms.def, by key_of().
struct Tables {
  /// With the architecture of the GPU whose results were recorded.
  std::map<std::string, int> recorded;
  std::set<std::string> tested;
};

const Tables& tables() {
  static const Tables kTables = [] {
    Tables made;
    for (const Row& row : kRecorded) made.recorded[key_of(parsed(row.form))] = row.sm;
    for (const char* const form : kTested) made.tested.insert(key_of(parsed(form)));
    return made;
  }();
  return kTables;
}

}  // namespace

std::string_view name_of(FidelityClass what) {
  switch (what) {
    case FidelityClass::Exact:
      return "exact";
    case FidelityClass::Defined:
      return "defined";
    case FidelityClass::Modelled:
      return "modelled";
    case FidelityClass::Unsupported:
      return "unsupported";
  }
  return "";
}

FormFidelity fidelity_of(std::string_view text, int sm) {
  const Form form = parsed(text);
  if (form.opcode == ptx::Opcode::Unknown || form.has(Trait::Refused)) {
    return {FidelityClass::Unsupported, "the emulator has no such instruction"};
  }
  const std::string key = key_of(form);
  const auto known = tables().recorded.find(key);
  const bool is_recorded = known != tables().recorded.end();
  const std::string chip = is_recorded ? chip_name(known->second) : "";
  if (const Open open = open_bits(form); open.why != nullptr) {
    if (!open.of_architecture) return {FidelityClass::Modelled, open.why};
    if (is_recorded && known->second == sm) {
      return {FidelityClass::Exact,
              fmt::format("{}; an {} answered with the same bits", open.why, chip), true};
    }
    return {FidelityClass::Modelled,
            is_recorded ? fmt::format("{}; recorded are the answers of an {}, not of sm_{}",
                                      open.why, chip, sm)
                        : fmt::format("{}; no answer of a GPU is recorded", open.why),
            true};
  }
  if (is_recorded) {
    return {FidelityClass::Exact, fmt::format("an {} answered with the same bits", chip)};
  }
  return {FidelityClass::Defined, tables().tested.contains(key)
                                      ? "the PTX ISA fixes the bits, and tests compare them with it"
                                      : "the PTX ISA fixes the bits"};
}

std::string short_name(const std::string& text) {
  const Form form = parsed(text);
  if (!is_matrix_sum(form)) return text;
  std::string sparse, shape;
  std::vector<std::string> types;
  for (const std::string& one : form.modifiers) {
    if (one == "sp" || one == "sp::ordered_metadata") sparse = ".sp";
    if (one.size() > 1 && one[0] == 'm' && one.find('k') != one.npos && one[1] >= '0' &&
        one[1] <= '9') {
      shape = one;
    }
    if (ptx::type_from_name(one)) types.push_back(one);
  }
  // With only two types, those of the result and the addend, the factors are f16.
  return fmt::format("{}{}.{}.{}", form.name, sparse, shape, types.size() > 2 ? types[1] : "f16");
}

}  // namespace gpuemu
