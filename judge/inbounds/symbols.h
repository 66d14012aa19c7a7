// The symbols of polynomials, and what is always true of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/inbounds/polynomial.h"

namespace gpuemu::inbounds {

/// An interval with optional bounds. Bounds beyond 2^62 count as absent.
struct Interval {
  static constexpr int64_t kNone = INT64_MAX;  ///< As `high`; absent `low` is -kNone.
  int64_t low = -kNone, high = kNone;
  bool has_low() const { return low != -kNone; }
  bool has_high() const { return high != kNone; }
};

/// A conjunction: each of `facts` is >= 0, each of `unequal` is not 0.
struct Assumption {
  std::vector<Polynomial> facts, unequal;
};
/// A disjunction: at least one holds.
using Alternatives = std::vector<Assumption>;

struct SymbolInfo {
  std::string name;
  Interval range;
  std::vector<Polynomial> facts;    ///< >= 0 wherever the symbol has a value.
  std::vector<Alternatives> cases;  ///< One alternative of each holds wherever the symbol has a
                                    ///< value.
  std::vector<Symbol> parts;        ///< The symbols that it is a function of.
  int32_t home = -1;                ///< Basic block that computes it; -1: known at launch.
  int32_t region = -1;              ///< The region whose address it is; -1: none.
  bool is_quotient = false;         ///< A quotient rounded down, at least 0.
  std::string reason;  ///< Why nothing is known about it, such as "is read from memory at line 7".
};

class Symbols {
 public:
  Symbol add(SymbolInfo info);
  SymbolInfo& operator[](Symbol symbol) { return all_[symbol]; }
  const SymbolInfo& operator[](Symbol symbol) const { return all_[symbol]; }
  size_t size() const { return all_.size(); }

  Interval interval(const Polynomial& poly) const;
  std::string text(const Polynomial& poly) const;

  /// Returns the integer floor(numerator / divisor). Requires divisor > 0.
  Polynomial floor_of(const Polynomial& numerator, int64_t divisor);
  /// Returns floor(numerator / divisor). Requires divisor >= 1 wherever it is used.
  Polynomial floor_of(const Polynomial& numerator, const Polynomial& divisor);
  /// Returns what floor_of() does. Requires numerator >= 0 and divisor >= 1 wherever it is used.
  Polynomial quotient_of(const Polynomial& numerator, const Polynomial& divisor);
  /// Returns what else `fact`, which is >= 0, implies: if it is numerator - divisor * x with
  /// numerator >= 0 and divisor >= 1, then x is at most the quotient.
  struct Rounded {
    Polynomial fact, numerator, divisor;
  };
  std::vector<Rounded> rounded(const Polynomial& fact) const;
  /// Returns numerator - divisor * floor(numerator / divisor).
  Polynomial modulo(const Polynomial& numerator, int64_t divisor);
  /// Returns the smaller (larger) of two integers.
  Polynomial extreme_of(const Polynomial& a, const Polynomial& b, bool larger);

 private:
  struct Key {
    int kind = 0;
    Polynomial a, b;
    bool operator<(const Key& other) const;
  };
  /// Returns the symbol for a function of polynomials; equal arguments give the same symbol.
  Symbol function(const Key& key, SymbolInfo info);
  /// Returns the symbol of that key, with the facts of numerator / divisor rounded down.
  Polynomial quotient(const Key& key, SymbolInfo info, const Polynomial& numerator,
                      const Polynomial& divisor);

  std::vector<SymbolInfo> all_;
  std::map<Key, Symbol> functions_;
};

/// Returns a polynomial that equals `poly` under the assumption: each equality among its facts
/// eliminates one symbol.
Polynomial reduced(Polynomial poly, const Assumption& way);

/// Adds a == b as facts.
void add_equality(std::vector<Polynomial>& facts, const Polynomial& a, const Polynomial& b);

}  // namespace gpuemu::inbounds
