#include "runtime/ptx/variables.h"

#include <fmt/ranges.h>

namespace gpuemu::ptx {
namespace {

constexpr size_t kNamesShown = 20;

bool is_on_device(const Variable& variable) {
  return variable.space == Space::Global || variable.space == Space::Const;
}

/// Returns the mangled form "5model7weights" of "model::weights".
std::string mangled(const std::string& name) {
  std::string out;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find("::", at), name.size());
    if (end > at) out += std::to_string(end - at) + name.substr(at, end - at);
    at = end + 2;
  }
  return out;
}

/// Returns whether the symbol ends with the mangled name. An E after it closes a nested name; a
/// digit before it would belong to a longer length.
bool is_mangled_as(const std::string& symbol, const std::string& name) {
  if (!symbol.starts_with("_Z")) return false;
  for (const std::string& end : {name, name + "E"}) {
    if (!symbol.ends_with(end)) continue;
    const char before = symbol[symbol.size() - end.size() - 1];
    if (before < '0' || before > '9') return true;
  }
  return false;
}

}  // namespace

Result<const Variable*> find_variable(const Module& module, const std::string& name) {
  const std::string inner = mangled(name);
  const Variable* found = nullptr;
  std::vector<std::string> names;
  for (const Variable& variable : module.variables) {
    if (!is_on_device(variable)) continue;
    if (variable.name == name) return &variable;
    names.push_back(variable.name);
    if (!is_mangled_as(variable.name, inner)) continue;
    if (found != nullptr) {
      return error(ErrorCode::InvalidArgument,
                   "'{}' may be {} or {}; write one of these names, or its namespace", name,
                   found->name, variable.name);
    }
    found = &variable;
  }
  if (found != nullptr) return found;
  const size_t more = names.size() - std::min(names.size(), kNamesShown);
  names.resize(names.size() - more);
  return error(ErrorCode::NotFound, "the compiled source has no variable '{}'; {}{}", name,
               names.empty() ? std::string("it has none that a kernel uses")
                             : fmt::format("it has {}", fmt::join(names, ", ")),
               more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace gpuemu::ptx
