// Polynomials with whole coefficients over symbols (symbols.h): what a kernel's integers are in
// terms of its launch. One that grew too large, or whose numbers left 64 bits, is broken: nothing
// is ever concluded from it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuemu::inbounds {

using Symbol = uint32_t;
using Monomial = std::vector<Symbol>;  ///< Ascending; an symbol stands in it as often as its power.

class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(int64_t constant);  // NOLINT: 0 and 1 stand for themselves in formulas.
  static Polynomial symbol(Symbol symbol);
  static Polynomial broken();

  bool is_broken() const { return broken_; }
  bool is_zero() const { return !broken_ && terms_.empty(); }
  std::optional<int64_t> constant() const;  ///< When there is no symbol in it.
  int64_t constant_term() const;
  const std::map<Monomial, int64_t>& terms() const { return terms_; }
  std::set<Symbol> symbols() const;
  bool has(Symbol symbol) const;

  Polynomial& operator+=(const Polynomial& other);
  friend Polynomial operator+(Polynomial a, const Polynomial& b) { return a += b; }
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b) {
    return a + b * Polynomial(-1);
  }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  bool operator==(const Polynomial&) const = default;
  bool operator<(const Polynomial& other) const { return terms_ < other.terms_; }

  struct Linear;
  /// As factor * symbol + rest, neither with `symbol` in it; nothing when a higher power stands
  /// there.
  std::optional<Linear> linear_in(Symbol symbol) const;
  Polynomial replaced(Symbol symbol, const Polynomial& by) const;
  /// The part whose coefficients `divisor` divides, divided; and what is left. REQUIRES: divisor>0.
  std::pair<Polynomial, Polynomial> split_by(int64_t divisor) const;
  /// This = divisor * result, when `divisor` is one term.
  std::optional<Polynomial> divided_by(const Polynomial& divisor) const;
  /// p >= 0 says the same as normalized() >= 0: coefficients without a common factor.
  Polynomial normalized() const;
  /// "4*n - 4*i - 4"
  std::string text(const std::function<std::string(Symbol)>& name_of) const;

 private:
  void add_term(const Monomial& monomial, int64_t coefficient);
  void check_size();

  std::map<Monomial, int64_t> terms_;  // Without zeros.
  bool broken_ = false;
};

struct Polynomial::Linear {
  Polynomial factor, rest;
};

}  // namespace gpuemu::inbounds
