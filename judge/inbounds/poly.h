// Polynomials with whole coefficients over atoms (atoms.h): what a kernel's integers are in terms
// of its launch. One that grew too large, or whose numbers left 64 bits, is broken: nothing is ever
// concluded from it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuemu::prove {

using Atom = uint32_t;
using Monomial = std::vector<Atom>;  ///< Ascending; an atom stands in it as often as its power.

class Poly {
 public:
  Poly() = default;
  Poly(int64_t constant);  // NOLINT: 0 and 1 stand for themselves in formulas.
  static Poly atom(Atom atom);
  static Poly broken();

  bool is_broken() const { return broken_; }
  bool is_zero() const { return !broken_ && terms_.empty(); }
  std::optional<int64_t> constant() const;  ///< When there is no atom in it.
  int64_t constant_term() const;
  const std::map<Monomial, int64_t>& terms() const { return terms_; }
  std::set<Atom> atoms() const;
  bool has(Atom atom) const;

  Poly& operator+=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator-(const Poly& a, const Poly& b) { return a + b * Poly(-1); }
  friend Poly operator*(const Poly& a, const Poly& b);
  bool operator==(const Poly&) const = default;
  bool operator<(const Poly& other) const { return terms_ < other.terms_; }

  struct Linear;
  /// As factor * atom + rest, neither with `atom` in it; nothing when a higher power stands there.
  std::optional<Linear> linear_in(Atom atom) const;
  Poly replaced(Atom atom, const Poly& by) const;
  /// The part whose coefficients `divisor` divides, divided; and what is left. REQUIRES: divisor>0.
  std::pair<Poly, Poly> split_by(int64_t divisor) const;
  /// This = divisor * result, when `divisor` is one term.
  std::optional<Poly> divided_by(const Poly& divisor) const;
  /// p >= 0 says the same as normalized() >= 0: coefficients without a common factor.
  Poly normalized() const;
  /// "4*n - 4*i - 4"
  std::string text(const std::function<std::string(Atom)>& name_of) const;

 private:
  void add_term(const Monomial& monomial, int64_t coefficient);
  void check_size();

  std::map<Monomial, int64_t> terms_;  // Without zeros.
  bool broken_ = false;
};

struct Poly::Linear {
  Poly factor, rest;
};

}  // namespace gpuemu::prove
