// What the letters of the polynomials stand for, and what is always true of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/inbounds/polynomial.h"

namespace gpuemu::inbounds {

/// Bounds that may be absent. Numbers beyond 2^62 are.
struct Interval {
  static constexpr int64_t kNone = INT64_MAX;  ///< As `high`; as `low` it is -kNone.
  int64_t low = -kNone, high = kNone;
  bool has_low() const { return low != -kNone; }
  bool has_high() const { return high != kNone; }
};

/// Facts that hold together: each `facts` is >= 0, each `unequal` is not 0.
struct Assumption {
  std::vector<Polynomial> facts, unequal;
};
/// At least one of them holds.
using Alternatives = std::vector<Assumption>;

struct SymbolInfo {
  std::string name;
  Interval range;
  std::vector<Polynomial> facts;    ///< >= 0 wherever the symbol has a value.
  std::vector<Alternatives> cases;  ///< One of each, wherever the symbol has a value.
  std::vector<Symbol> parts;        ///< The symbols that it is a function of.
  int32_t home = -1;                ///< Basic block that gives it its value; -1: the launch.
  int32_t region = -1;              ///< The region whose address it is; -1: none.
  bool is_quotient = false;         ///< Rounded down, at least 0.
  std::string reason;  ///< Why nothing is known about it: "is read from memory at line 7".
};

class Symbols {
 public:
  Symbol add(SymbolInfo info);
  SymbolInfo& operator[](Symbol symbol) { return all_[symbol]; }
  const SymbolInfo& operator[](Symbol symbol) const { return all_[symbol]; }
  size_t size() const { return all_.size(); }

  Interval interval(const Polynomial& poly) const;
  std::string text(const Polynomial& poly) const;

  /// The integer floor(numerator / divisor). REQUIRES: divisor > 0.
  Polynomial floor_of(const Polynomial& numerator, int64_t divisor);
  /// floor(numerator / divisor). REQUIRES: the divisor is at least 1 wherever this is used.
  Polynomial floor_of(const Polynomial& numerator, const Polynomial& divisor);
  /// floor_of(). REQUIRES: numerator >= 0 and divisor >= 1 wherever this is used.
  Polynomial quotient_of(const Polynomial& numerator, const Polynomial& divisor);
  /// What else `fact`, which is >= 0, says: of numerator - divisor * x that x is at most the
  /// quotient, where numerator >= 0 and divisor >= 1.
  struct Rounded {
    Polynomial fact, numerator, divisor;
  };
  std::vector<Rounded> rounded(const Polynomial& fact) const;
  /// numerator - divisor * floor(numerator / divisor)
  Polynomial modulo(const Polynomial& numerator, int64_t divisor);
  /// The smaller (larger) of two integers.
  Polynomial extreme_of(const Polynomial& a, const Polynomial& b, bool larger);

 private:
  struct Key {
    int kind = 0;
    Polynomial a, b;
    bool operator<(const Key& other) const;
  };
  /// The symbol for a function of polynomials, the same for the same ones.
  Symbol function(const Key& key, SymbolInfo info);
  /// The symbol of that key, with what holds for numerator / divisor rounded down.
  Polynomial quotient(const Key& key, SymbolInfo info, const Polynomial& numerator,
                      const Polynomial& divisor);

  std::vector<SymbolInfo> all_;
  std::map<Key, Symbol> functions_;
};

/// Equals `poly` where the assumption holds: each equality among its facts takes one symbol out of
/// it.
Polynomial reduced(Polynomial poly, const Assumption& way);

/// a == b as facts.
void add_equality(std::vector<Polynomial>& facts, const Polynomial& a, const Polynomial& b);

}  // namespace gpuemu::inbounds
