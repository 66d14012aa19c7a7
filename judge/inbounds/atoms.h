// What the letters of the polynomials stand for, and what is always true of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/inbounds/poly.h"

namespace gpuemu::prove {

/// Bounds that may be absent. Numbers beyond 2^62 are.
struct Interval {
  static constexpr int64_t kNone = INT64_MAX;  ///< As `high`; as `low` it is -kNone.
  int64_t low = -kNone, high = kNone;
  bool has_low() const { return low != -kNone; }
  bool has_high() const { return high != kNone; }
};

/// Facts that hold together: each `facts` is >= 0, each `unequal` is not 0.
struct Assumption {
  std::vector<Poly> facts, unequal;
};
/// At least one of them holds.
using Alternatives = std::vector<Assumption>;

struct AtomInfo {
  std::string name;
  Interval range;
  std::vector<Poly> facts;          ///< >= 0 wherever the atom has a value.
  std::vector<Alternatives> cases;  ///< One of each, wherever the atom has a value.
  std::vector<Atom> parts;          ///< Of an atom that is a function of others: those.
  int32_t home = -1;                ///< Basic block that gives it its value; -1: the launch.
  int32_t region = -1;              ///< Of an atom that is the address of a region: which.
  bool is_quotient = false;         ///< Rounded down, at least 0.
  std::string reason;  ///< Why nothing is known about it: "is read from memory at line 7".
};

class Atoms {
 public:
  Atom add(AtomInfo info);
  AtomInfo& operator[](Atom atom) { return all_[atom]; }
  const AtomInfo& operator[](Atom atom) const { return all_[atom]; }
  size_t size() const { return all_.size(); }

  Interval interval(const Poly& poly) const;
  std::string text(const Poly& poly) const;

  /// The integer floor(numerator / divisor). REQUIRES: divisor > 0.
  Poly floor_of(const Poly& numerator, int64_t divisor);
  /// The same where the divisor is known to be at least 1 wherever this is used.
  Poly floor_of(const Poly& numerator, const Poly& divisor);
  /// The same where numerator >= 0 and divisor >= 1 are known wherever this is used.
  Poly quotient_of(const Poly& numerator, const Poly& divisor);
  /// What else `fact`, which is >= 0, says: of numerator - divisor * x that x is at most the
  /// quotient, where numerator >= 0 and divisor >= 1.
  struct Rounded {
    Poly fact, numerator, divisor;
  };
  std::vector<Rounded> rounded(const Poly& fact) const;
  /// numerator - divisor * floor(numerator / divisor)
  Poly modulo(const Poly& numerator, int64_t divisor);
  /// The smaller (larger) of two integers.
  Poly extreme_of(const Poly& a, const Poly& b, bool larger);

 private:
  struct Key {
    int kind = 0;
    Poly a, b;
    bool operator<(const Key& other) const;
  };
  /// The atom for a function of polynomials, the same for the same ones.
  Atom function(const Key& key, AtomInfo info);
  /// The atom of that key, with what holds for numerator / divisor rounded down.
  Poly quotient(const Key& key, AtomInfo info, const Poly& numerator, const Poly& divisor);

  std::vector<AtomInfo> all_;
  std::map<Key, Atom> functions_;
};

/// The same number as `poly` where the assumption holds: each equality among its facts takes one
/// atom out of it.
Poly reduced(Poly poly, const Assumption& way);

/// a == b as facts.
void add_equality(std::vector<Poly>& facts, const Poly& a, const Poly& b);

}  // namespace gpuemu::prove
