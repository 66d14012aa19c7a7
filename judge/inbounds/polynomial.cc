#include "judge/inbounds/polynomial.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {
namespace {

/// Rounds down, for a positive divisor.
int64_t floor_division(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

Polynomial::Polynomial(int64_t constant) {
  if (constant != 0) terms_.emplace(Monomial(), constant);
}

Polynomial Polynomial::symbol(Symbol symbol) {
  Polynomial one;
  one.terms_.emplace(Monomial{symbol}, 1);
  return one;
}

Polynomial Polynomial::broken() {
  Polynomial none;
  none.broken_ = true;
  return none;
}

std::optional<int64_t> Polynomial::constant() const {
  if (broken_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0;
  if (!terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

int64_t Polynomial::constant_term() const {
  const auto found = terms_.find(Monomial());
  return found == terms_.end() ? 0 : found->second;
}

std::set<Symbol> Polynomial::symbols() const {
  std::set<Symbol> all;
  for (const auto& [monomial, coefficient] : terms_) all.insert(monomial.begin(), monomial.end());
  return all;
}

bool Polynomial::has(Symbol symbol) const {
  return std::ranges::any_of(terms_, [symbol](const auto& term) {
    return std::ranges::binary_search(term.first, symbol);
  });
}

void Polynomial::add_term(const Monomial& monomial, int64_t coefficient) {
  const auto [place, added] = terms_.try_emplace(monomial, coefficient);
  if (added) return;
  broken_ = broken_ || __builtin_add_overflow(place->second, coefficient, &place->second);
  if (place->second == 0) terms_.erase(place);
}

void Polynomial::check_size() {
  if (!broken_ && terms_.size() <= kPolyTermsMax) return;
  terms_.clear();
  broken_ = true;
}

Polynomial& Polynomial::operator+=(const Polynomial& other) {
  broken_ = broken_ || other.broken_;
  if (!broken_) {
    for (const auto& [monomial, coefficient] : other.terms_) add_term(monomial, coefficient);
  }
  check_size();
  return *this;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  product.broken_ = a.broken_ || b.broken_ || a.terms_.size() * b.terms_.size() > kPolyTermsMax;
  if (product.broken_) return product;
  for (const auto& [left, left_coefficient] : a.terms_) {
    for (const auto& [right, right_coefficient] : b.terms_) {
      Monomial both;
      std::ranges::merge(left, right, std::back_inserter(both));
      int64_t coefficient = 0;
      const bool overflows =
          __builtin_mul_overflow(left_coefficient, right_coefficient, &coefficient);
      product.broken_ = product.broken_ || overflows || both.size() > kPolyDegreeMax;
      product.add_term(both, coefficient);
    }
  }
  product.check_size();
  return product;
}

std::optional<Polynomial::Linear> Polynomial::linear_in(Symbol symbol) const {
  Linear parts;
  for (const auto& [monomial, coefficient] : terms_) {
    const auto [first, last] = std::ranges::equal_range(monomial, symbol);
    if (last - first > 1) return std::nullopt;
    if (first == last) {
      parts.rest.terms_.emplace(monomial, coefficient);
      continue;
    }
    Monomial others(monomial.begin(), first);
    others.insert(others.end(), last, monomial.end());
    parts.factor.terms_.emplace(std::move(others), coefficient);
  }
  return parts;
}

Polynomial Polynomial::replaced(Symbol symbol, const Polynomial& by) const {
  Polynomial all;
  all.broken_ = broken_;
  for (const auto& [monomial, coefficient] : terms_) {
    Polynomial term(coefficient);
    for (const Symbol one : monomial) term = term * (one == symbol ? by : Polynomial::symbol(one));
    all += term;
  }
  return all;
}

std::pair<Polynomial, Polynomial> Polynomial::split_by(int64_t divisor) const {
  std::pair<Polynomial, Polynomial> parts;
  parts.first.broken_ = parts.second.broken_ = broken_;
  for (const auto& [monomial, coefficient] : terms_) {
    const int64_t whole = floor_division(coefficient, divisor);
    // Only the constant is split: 5 times a symbol is not 4 times it plus 1.
    if (coefficient % divisor == 0 || monomial.empty()) {
      parts.first.add_term(monomial, whole);
      if (coefficient % divisor != 0) {
        parts.second.add_term(monomial, coefficient - whole * divisor);
      }
    } else {
      parts.second.add_term(monomial, coefficient);
    }
  }
  if (const auto zero = parts.first.terms_.find(Monomial());
      zero != parts.first.terms_.end() && zero->second == 0) {
    parts.first.terms_.erase(zero);
  }
  return parts;
}

std::optional<Polynomial> Polynomial::divided_by(const Polynomial& divisor) const {
  if (broken_ || divisor.broken_ || divisor.terms_.size() != 1) return std::nullopt;
  const auto& [factors, by] = *divisor.terms_.begin();
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!std::ranges::includes(monomial, factors) || by == -1 || coefficient % by != 0) {
      return std::nullopt;
    }
    Monomial left;
    std::ranges::set_difference(monomial, factors, std::back_inserter(left));
    result.terms_.emplace(std::move(left), coefficient / by);
  }
  return result;
}

Polynomial Polynomial::normalized() const {
  int64_t common = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    if (coefficient == INT64_MIN) return *this;
    if (!monomial.empty()) common = std::gcd(common, coefficient);
  }
  if (common <= 1) return *this;
  Polynomial result;
  result.broken_ = broken_;
  for (const auto& [monomial, coefficient] : terms_) {
    const int64_t divided = floor_division(coefficient, common);
    if (divided != 0) result.terms_.emplace(monomial, divided);
  }
  return result;
}

std::string Polynomial::text(const std::function<std::string(Symbol)>& name_of) const {
  if (broken_) return "(too large)";
  std::string all;
  // Long products first, the constant last.
  std::vector<std::pair<Monomial, int64_t>> ordered(terms_.begin(), terms_.end());
  std::ranges::stable_sort(ordered, std::greater<>(), [](const auto& t) { return t.first.size(); });
  for (const auto& [monomial, coefficient] : ordered) {
    const bool negative = coefficient < 0;
    const auto magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(coefficient)
                                    : static_cast<uint64_t>(coefficient);
    all += all.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string product = magnitude == 1 && !monomial.empty() ? "" : fmt::format("{}", magnitude);
    for (const Symbol symbol : monomial) product += (product.empty() ? "" : "*") + name_of(symbol);
    all += product;
  }
  return all.empty() ? "0" : all;
}

}  // namespace gpuemu::inbounds
