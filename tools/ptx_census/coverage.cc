#include "tools/ptx_census/coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "runtime/emulator/decode/modifiers.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/handlers/key.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::census {
namespace {

constexpr std::string_view kIntroduction = R"(# PTX coverage

What the emulator executes, as its tables have it; `gpuemu-ptx-census --coverage` writes this page, and a test
fails when it is out of date. `gpuemu-ptx-census FOLDER` says the same of your own PTX: every opcode with its
modifiers, how often it occurs, whether it is executed, and one place for each that is not.

- Modifiers may stand in any order. Alternatives are separated by `|`, and `?` marks what may be left out.
- `.rnd` is one of `.rn .rz .rm .rp`; forms without it round to the nearest where anything is rounded.
- Anything that is not here is refused: the module loads, and a thread that comes to the instruction ends the
  launch with the finding `unsupported_instruction`, which names the instruction, its line and the source line.
- Registers are bits: `.b32`, `.u32`, `.s32` and `.f32` registers go for each other, another size is an error
  with line and column when the module is loaded.
- Any `.version` and `.target` is taken; a version above 9.0 and an architecture that nobody knows get a warning, in `gpuemu test` and `gpuemu.Kernel` too. Addresses have 64 bits.
- Of the functions that a driver supplies there are `vprintf`, `__assertfail`, `malloc` and `free`; calls of others
  are refused like an instruction. Kernels that launch kernels are among those.
- The families `min` and `max` take three operands in the form `ftz? NaN? abs? f32`.
- Textures and surfaces are objects (`cudaTextureObject_t`, `cudaSurfaceObject_t`); there are no `.texref`, `.samplerref` and `.surfref` variables.
)";

struct Group {
  std::string_view title;
  ptx::OpcodeClass what;
};
constexpr Group kGroups[] = {{"Arithmetic", ptx::OpcodeClass::Arithmetic},
                             {"Comparison and selection", ptx::OpcodeClass::Compare},
                             {"Logic and bits", ptx::OpcodeClass::Logic},
                             {"Conversion and moves", ptx::OpcodeClass::Convert},
                             {"Memory", ptx::OpcodeClass::Memory},
                             {"Atomics", ptx::OpcodeClass::Atomic},
                             {"Control flow", ptx::OpcodeClass::Control},
                             {"Between lanes", ptx::OpcodeClass::Warp},
                             {"Barriers and fences", ptx::OpcodeClass::Barrier},
                             {"Matrices", ptx::OpcodeClass::Matrix},
                             {"Asynchronous copies", ptx::OpcodeClass::Async},
                             {"Textures and surfaces", ptx::OpcodeClass::Texture},
                             {"Other", ptx::OpcodeClass::Misc},
                             {"Packed video instructions", ptx::OpcodeClass::Video}};

/// Modifiers to the types that they are combined with.
using Forms = std::map<std::string, std::set<std::string>>;

bool is_modifier(std::string_view word) {
  return emulator::canonical_key(fmt::format("x.b32.{}", word)) != fmt::format("x.b32.{}", word);
}

/// Returns the rows of the tables of meanings, by family.
std::map<std::string, Forms> meanings() {
  std::map<std::string, Forms> all;
  for (const auto& [key, row] : emulator::handlers()) {
    if (key != emulator::canonical_key(key)) continue;
    const size_t dot = std::min(key.find('.'), key.size());
    std::string modifiers, types;
    for (size_t at = dot; at < key.size();) {
      const size_t end = std::min(key.find('.', at + 1), key.size());
      const std::string word = key.substr(at, end - at);
      (is_modifier(word.substr(1)) ? modifiers : types) += word;
      at = end;
    }
    if (row.rounded != nullptr) modifiers = ".rnd" + modifiers;
    all[key.substr(0, dot)][modifiers].insert(types);
  }
  // The second half of a packed comparison is a separate row, but not a form.
  for (auto& [family, forms] : all) {
    std::erase_if(forms,
                  [](const auto& form) { return form.first.find(".high") != std::string::npos; });
  }
  return all;
}

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : " ").append(word);
  return out;
}

/// Writes forms with the same types on one line.
std::string lines_of(const std::string& family, const Forms& forms) {
  std::map<std::string, std::vector<std::string>> by_types;
  for (const auto& [modifiers, types] : forms) {
    by_types[joined(types)].push_back(modifiers.empty() ? "(none)" : "`" + modifiers + "`");
  }
  std::string out;
  for (const auto& [types, modifiers] : by_types) {
    out += fmt::format("| `{}` | {} | `{}` |\n", family, fmt::join(modifiers, " "), types);
  }
  return out;
}

/// Returns "sync? a|b b32" with escaped bars, which a cell of a table cannot contain.
std::string cell(std::string_view form) {
  std::string out;
  for (const char c : form) {
    if (c == '|') out += '\\';
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? "(none)" : "`" + out + "`";
}

std::string hand_decoded(ptx::Opcode opcode) {
  std::string out;
  for (const emulator::FormRow& row : emulator::form_rows()) {
    if (row.opcode == opcode) {
      out += fmt::format("| `{}` | {} | |\n", ptx::info(opcode).text, cell(row.modifiers));
    }
  }
  return out;
}

}  // namespace

std::string coverage_page() {
  const std::map<std::string, Forms> table = meanings();
  std::string out(kIntroduction);
  std::string refused;
  const auto lines_of_one = [&](ptx::Opcode opcode) {
    const std::string family(ptx::info(opcode).text);
    const std::string by_hand = hand_decoded(opcode);
    const auto found = table.find(family);
    // Loads and stores are in both tables; their rows describe how they work, not which forms
    // exist.
    const bool both =
        found != table.end() && opcode != ptx::Opcode::Ld && opcode != ptx::Opcode::St;
    return by_hand + (both ? lines_of(family, found->second) : "");
  };
  for (const Group& group : kGroups) {
    std::string lines;
    for (size_t i = 0; i < ptx::kOpcodeCount; ++i) {
      const auto opcode = static_cast<ptx::Opcode>(i);
      if (ptx::info(opcode).what != group.what) continue;
      const std::string some = lines_of_one(opcode);
      lines += some;
      if (some.empty()) refused += fmt::format(" `{}`", ptx::info(opcode).text);
    }
    if (!lines.empty()) {
      out += fmt::format("\n## {}\n\n| family | modifiers | types |\n| --- | --- | --- |\n{}",
                         group.title, lines);
    }
  }
  out += "\n## Refused\n\nKnown families of which no form is executed:" + refused + ".\n";
  return out;
}

}  // namespace gpuemu::census
