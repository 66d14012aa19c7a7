#include "runtime/ptx/symbols.h"

#include <charconv>

#include <fmt/core.h>

#include "common/base/check.h"

namespace gpuemu::ptx {
namespace {

struct Split {
  std::string_view prefix;
  uint32_t number = 0;
};

// "%r12" is "%r" and 12; "%r012" is not an element of a range.
std::optional<Split> split_number(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  const std::string_view digits = name.substr(begin);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return {};
  Split split{name.substr(0, begin), 0};
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), split.number);
  if (parsed.ec != std::errc{}) return {};
  return split;
}

}  // namespace

void SymbolTable::open() {
  scopes_.emplace_back().parent = current_;
  current_ = static_cast<uint32_t>(scopes_.size() - 1);
  ++depth_;
}

void SymbolTable::close() {
  GPUEMU_CHECK(depth_ > 0);
  current_ = scopes_[current_].parent;
  --depth_;
}

bool SymbolTable::declare(std::string_view name, Symbol symbol) {
  Scope& scope = scopes_[current_];
  if (const auto split = split_number(name)) {
    const auto range = scope.ranges.find(split->prefix);
    if (range != scope.ranges.end() && split->number < range->second.count) return false;
  }
  return scope.names.try_emplace(name, symbol).second;
}

bool SymbolTable::declare_range(std::string_view prefix, uint32_t first, uint32_t count) {
  return scopes_[current_].ranges.try_emplace(prefix, Range{first, count}).second;
}

std::optional<Symbol> SymbolTable::find_from(std::string_view name, uint32_t scope_index) const {
  const auto split = split_number(name);
  for (;; scope_index = scopes_[scope_index].parent) {
    const Scope& scope = scopes_[scope_index];
    if (split && !scope.ranges.empty()) {
      const auto range = scope.ranges.find(split->prefix);
      if (range != scope.ranges.end() && split->number < range->second.count) {
        return Symbol{Symbol::Kind::Register, range->second.first + split->number, 1};
      }
    }
    if (!scope.names.empty()) {
      const auto found = scope.names.find(name);
      if (found != scope.names.end()) return found->second;
    }
    if (scope_index == 0) return {};
  }
}

std::string SymbolTable::nearest_range(std::string_view name) const {
  const auto split = split_number(name);
  if (!split) return {};
  for (uint32_t scope = current_;; scope = scopes_[scope].parent) {
    const auto range = scopes_[scope].ranges.find(split->prefix);
    if (range != scopes_[scope].ranges.end()) {
      return fmt::format("{}<{}>", split->prefix, range->second.count);
    }
    if (scope == 0) return {};
  }
}

std::string SymbolTable::suffix_for(std::string_view name) {
  const uint32_t count = ++declarations_[name];
  return count == 1 ? std::string() : fmt::format("@{}", count);
}

}  // namespace gpuemu::ptx
