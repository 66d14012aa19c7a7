#include "runtime/emulator/decode/modifiers.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace gpuemu::emulator {
namespace {

constexpr auto kForms = std::to_array<FormRow>({
#define PTX_FORM(family, modifiers) {family, modifiers},
#include "runtime/emulator/decode/modifiers.def"
#undef PTX_FORM
});
static_assert(std::ranges::is_sorted(kForms, {}, &FormRow::family));

/// The text up to the next separator, which is taken off `rest` too.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool is_alternative(std::string_view group, std::string_view modifier) {
  while (!group.empty()) {
    const std::string_view one = take_until(group, '|');
    const size_t star = one.find('*');
    if (star == std::string_view::npos
            ? one == modifier
            : modifier.starts_with(one.substr(0, star)) && modifier.ends_with(one.substr(star + 1)))
      return true;
  }
  return false;
}

/// Every group takes the first modifier that is left and fits; none may be left over.
bool fits(std::string_view form, std::vector<std::string_view> left) {
  while (!form.empty()) {
    std::string_view group = take_until(form, ' ');
    if (group.empty()) continue;
    const bool optional = group.ends_with('?');
    if (optional) group.remove_suffix(1);
    const auto found = std::ranges::find_if(
        left, [&](std::string_view modifier) { return is_alternative(group, modifier); });
    if (found != left.end())
      left.erase(found);
    else if (!optional)
      return false;
  }
  return left.empty();
}

}  // namespace

std::span<const FormRow> form_rows() { return kForms; }

bool is_of_three(const ptx::Instruction& instruction) {
  return (instruction.family == "min" || instruction.family == "max") &&
         instruction.operands.size() == 4;
}

bool is_known_form(const ptx::Instruction& instruction) {
  std::string family = instruction.family;
  if ((family == "add" || family == "sub" || family == "mad") && instruction.has("cc"))
    family += ".cc";
  if (is_of_three(instruction)) family += ".three";
  const auto rows =
      std::ranges::equal_range(kForms, std::string_view(family), {}, &FormRow::family);
  if (rows.empty()) return true;
  const std::vector<std::string_view> modifiers(instruction.modifiers.begin(),
                                                instruction.modifiers.end());
  return std::ranges::any_of(rows,
                             [&](const FormRow& row) { return fits(row.modifiers, modifiers); });
}

}  // namespace gpuemu::emulator
