// Polynomials with whole coefficients over symbols (symbols.h): a kernel's integers in terms of its
// launch. A polynomial that grew too large, or whose coefficients left 64 bits, is broken: nothing
// may be concluded from it.
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
using Monomial = std::vector<Symbol>;  ///< Ascending; a symbol is repeated according to its power.

class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(int64_t constant);  // NOLINT: 0 and 1 stand for themselves in formulas.
  static Polynomial symbol(Symbol symbol);
  static Polynomial broken();

  bool is_broken() const { return broken_; }
  bool is_zero() const { return !broken_ && terms_.empty(); }
  std::optional<int64_t> constant() const;  ///< Set if there is no symbol in it.
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
  /// Splits into factor * symbol + rest, both without `symbol`; nothing if a higher power occurs.
  std::optional<Linear> linear_in(Symbol symbol) const;
  Polynomial replaced(Symbol symbol, const Polynomial& by) const;
  /// Returns the part whose coefficients are divisible by `divisor`, divided, and the rest.
  /// Requires divisor > 0.
  std::pair<Polynomial, Polynomial> split_by(int64_t divisor) const;
  /// Returns the quotient if this equals divisor * quotient and `divisor` is a single term.
  std::optional<Polynomial> divided_by(const Polynomial& divisor) const;
  /// Divides by the common factor of the coefficients: p >= 0 if and only if normalized() >= 0.
  Polynomial normalized() const;
  /// Returns for example "4*n - 4*i - 4".
  std::string text(const std::function<std::string(Symbol)>& name_of) const;

 private:
  void add_term(const Monomial& monomial, int64_t coefficient);
  void check_size();

  std::map<Monomial, int64_t> terms_;  // Without zero coefficients.
  bool broken_ = false;
};

struct Polynomial::Linear {
  Polynomial factor, rest;
};

}  // namespace gpuemu::inbounds
