// The symbol table of one function: nested scopes, register ranges, and unique spellings.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpuemu::ptx {

struct Symbol {
  enum class Kind : uint8_t { Register, VectorRegister, Variable, Param, Label, Table, Prototype };
  Kind kind = Kind::Register;
  uint32_t index = 0;
  uint32_t count = 1;  ///< Elements, for a vector register.
};

class SymbolTable {
 public:
  SymbolTable() { scopes_.emplace_back(); }

  void open();
  /// Requires depth() > 0.
  void close();
  uint32_t depth() const { return depth_; }
  uint32_t current() const { return current_; }

  /// Returns false if the innermost scope already has the name. `name` must outlive the table; see
  /// keep().
  bool declare(std::string_view name, Symbol symbol);
  /// Declares prefix0 to prefix(count-1) as registers first, first+1 and so on.
  bool declare_range(std::string_view prefix, uint32_t first, uint32_t count);

  std::optional<Symbol> find(std::string_view name) const { return find_from(name, current_); }
  /// Looks up a name from a scope that may be closed, because labels can be used before they are
  /// declared.
  std::optional<Symbol> find_from(std::string_view name, uint32_t scope) const;
  /// Returns for example "%r<9>" for %r12, if that is the visible range that does not contain the
  /// name.
  std::string nearest_range(std::string_view name) const;

  /// Returns a suffix ("" or "@2") that distinguishes this declaration of `name` from earlier ones
  /// in the function.
  std::string suffix_for(std::string_view name);
  /// Returns a copy of the text that lives as long as the table.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

 private:
  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  struct Scope {
    uint32_t parent = 0;
    std::unordered_map<std::string_view, Range> ranges;  // By prefix.
    std::unordered_map<std::string_view, Symbol> names;
  };

  std::vector<Scope> scopes_;  // Closed scopes are kept for find_from().
  std::unordered_map<std::string_view, uint32_t> declarations_;
  std::deque<std::string> kept_;
  uint32_t current_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace gpuemu::ptx
