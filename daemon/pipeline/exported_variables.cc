// Turns variables that the host sets into initializers in the PTX of an exported case.
#include <algorithm>

#include <fmt/ranges.h>

#include "daemon/executor/module_variables.h"
#include "daemon/pipeline/case_export.h"

namespace gpuemu {
namespace {

bool ends_name(char c) { return c == '[' || c == ';' || c == ' ' || c == '='; }

/// Returns the first character and the end, after the semicolon, of the declaration of `name`.
std::optional<std::pair<size_t, size_t>> declaration_of(const std::string& ptx,
                                                        const std::string& name) {
  for (size_t line = 0; line < ptx.size(); line = ptx.find('\n', line)) {
    if (ptx[line] == '\n') ++line;
    const size_t end = ptx.find(';', line);
    if (end == std::string::npos) break;
    const std::string_view text = std::string_view(ptx).substr(line, end + 1 - line);
    const size_t at = text.find(" " + name);
    const bool is_it = text.starts_with('.') && at != std::string_view::npos &&
                       at + 1 + name.size() < text.size() && ends_name(text[at + 1 + name.size()]);
    const std::string_view before = text.substr(0, is_it ? at : 0);
    if (before.find(".const ") != before.npos || before.find(".global ") != before.npos) {
      if (before.find('\n') == before.npos) return std::pair(line, end + 1);
    }
  }
  return std::nullopt;
}

/// Declares the same variable as bytes with these values.
std::string redeclared(const std::string& declaration, const std::string& name,
                       const std::vector<std::byte>& image) {
  constexpr std::string_view kAlign = ".align ";
  constexpr int kLeastAlign = 16;  // The alignment of PTX's largest element.
  const std::string before = declaration.substr(0, declaration.find(" " + name));
  const size_t align = before.find(kAlign);
  const int given = align == before.npos ? 1 : std::atoi(&before[align + kAlign.size()]);
  std::vector<int> bytes;
  for (const std::byte byte : image) bytes.push_back(std::to_integer<int>(byte));
  return fmt::format("{}{} .align {} .b8 {}[{}] = {{{}}};",
                     before.find(".visible ") == before.npos ? "" : ".visible ",
                     before.find(".const ") == before.npos ? ".global" : ".const",
                     std::max(given, kLeastAlign), name, bytes.size(), fmt::join(bytes, ", "));
}

}  // namespace

Result<std::string> with_variables(std::string ptx, const ExecutionPlan& plan, Arena& arena) {
  for (const PlanVariable& variable : plan.variables) {
    const auto image = GPUEMU_TRY(variable_image(variable, arena, plan, 0));
    if (image.empty()) continue;
    const auto found = declaration_of(ptx, variable.name);
    if (!found) {
      return error(ErrorCode::Unsupported,
                   "the declaration of variable '{}' was not found in the PTX, so that the case "
                   "cannot be exported",
                   variable.name);
    }
    const auto [from, to] = *found;
    ptx.replace(from, to - from, redeclared(ptx.substr(from, to - from), variable.name, image));
  }
  return ptx;
}

}  // namespace gpuemu
