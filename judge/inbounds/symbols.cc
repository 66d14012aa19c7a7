#include "judge/inbounds/symbols.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace gpuemu::inbounds {
namespace {

__extension__ using Wide = __int128;
constexpr Wide kFar = Wide{1} << 62;

// Drops a bound that does not fit, or weakens it.
int64_t as_low(Wide value) {
  if (value < -kFar) return -Interval::kNone;
  return static_cast<int64_t>(std::min(value, kFar));
}
int64_t as_high(Wide value) {
  if (value > kFar) return Interval::kNone;
  return static_cast<int64_t>(std::max(value, -kFar));
}

Interval sum(const Interval& a, const Interval& b) {
  Interval all;
  if (a.has_low() && b.has_low()) all.low = as_low(Wide{a.low} + b.low);
  if (a.has_high() && b.has_high()) all.high = as_high(Wide{a.high} + b.high);
  return all;
}

Interval scaled(const Interval& a, int64_t by) {
  Interval all;
  const bool up = by >= 0;
  if (up ? a.has_low() : a.has_high()) all.low = as_low(Wide{up ? a.low : a.high} * by);
  if (up ? a.has_high() : a.has_low()) all.high = as_high(Wide{up ? a.high : a.low} * by);
  return all;
}

/// Multiplies bounded intervals, and non-negative ones.
Interval product(const Interval& a, const Interval& b) {
  if (a.low == 1 && a.high == 1) return b;
  Interval all;
  const bool bounded = a.has_low() && a.has_high() && b.has_low() && b.has_high();
  if (bounded) {
    const Wide corners[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                            Wide{a.high} * b.high};
    all.low = as_low(*std::ranges::min_element(corners));
    all.high = as_high(*std::ranges::max_element(corners));
  } else if (a.has_low() && b.has_low() && a.low >= 0 && b.low >= 0) {
    all.low = as_low(Wide{a.low} * b.low);
  }
  return all;
}

Interval floored(const Interval& a, int64_t divisor) {
  const auto down = [divisor](int64_t value) {
    return value / divisor - (value % divisor < 0 ? 1 : 0);
  };
  Interval all;
  if (a.has_low()) all.low = down(a.low);
  if (a.has_high()) all.high = down(a.high);
  return all;
}

std::vector<Symbol> parts_of(const Polynomial& a, const Polynomial& b) {
  std::set<Symbol> all = a.symbols();
  all.merge(b.symbols());
  return {all.begin(), all.end()};
}

}  // namespace

bool Symbols::Key::operator<(const Key& other) const {
  return std::tie(kind, a, b) < std::tie(other.kind, other.a, other.b);
}

Symbol Symbols::add(SymbolInfo info) {
  all_.push_back(std::move(info));
  return static_cast<Symbol>(all_.size() - 1);
}

Interval Symbols::interval(const Polynomial& poly) const {
  if (poly.is_broken()) return {};
  Interval all{0, 0};
  for (const auto& [monomial, coefficient] : poly.terms()) {
    Interval term{1, 1};
    for (const Symbol symbol : monomial) term = product(term, all_[symbol].range);
    all = sum(all, scaled(term, coefficient));
  }
  return all;
}

std::string Symbols::text(const Polynomial& poly) const {
  return poly.text([this](Symbol symbol) { return all_[symbol].name; });
}

Symbol Symbols::function(const Key& key, SymbolInfo info) {
  const auto [place, added] = functions_.try_emplace(key, 0);
  if (added) place->second = add(std::move(info));
  return place->second;
}

Polynomial Symbols::floor_of(const Polynomial& numerator, int64_t divisor) {
  if (numerator.is_broken() || divisor == 1) return numerator;
  const auto [whole, rest] = numerator.split_by(divisor);
  const Interval range = floored(interval(rest), divisor);
  if (range.has_low() && range.low == range.high) return whole + Polynomial(range.low);
  const Key key{0, rest, Polynomial(divisor)};
  SymbolInfo info;
  info.name = fmt::format("floor(({}) / {})", text(rest), divisor);
  info.range = range;
  info.is_quotient = range.low == 0;
  info.parts = parts_of(rest, {});
  const bool is_new = !functions_.contains(key);
  const Symbol quotient = function(key, std::move(info));
  if (is_new) {
    const Polynomial product = Polynomial::symbol(quotient) * Polynomial(divisor);
    all_[quotient].facts = {rest - product, product + Polynomial(divisor - 1) - rest};
  }
  return whole + Polynomial::symbol(quotient);
}

Polynomial Symbols::quotient(const Key& key, SymbolInfo info, const Polynomial& numerator,
                             const Polynomial& divisor) {
  const bool is_new = !functions_.contains(key);
  const Symbol result = function(key, std::move(info));
  if (is_new) {
    const Polynomial product = Polynomial::symbol(result) * divisor;
    all_[result].facts = {numerator - product, product + divisor - Polynomial(1) - numerator};
  }
  return Polynomial::symbol(result);
}

Polynomial Symbols::floor_of(const Polynomial& numerator, const Polynomial& divisor) {
  if (const auto number = divisor.constant(); number && *number > 0) {
    return floor_of(numerator, *number);
  }
  if (numerator.is_broken() || divisor.is_broken()) return Polynomial::broken();
  if (const auto exact = numerator.divided_by(divisor)) return *exact;
  const Key key{1, numerator, divisor};
  SymbolInfo info;
  info.name = fmt::format("floor(({}) / ({}))", text(numerator), text(divisor));
  const Interval range = interval(numerator);
  if (range.has_low()) info.range.low = std::min<int64_t>(range.low, 0);
  if (range.has_high()) info.range.high = std::max<int64_t>(range.high, 0);
  if (range.has_low() && range.low >= 0) info.range.low = 0;
  info.parts = parts_of(numerator, divisor);
  return quotient(key, std::move(info), numerator, divisor);
}

Polynomial Symbols::quotient_of(const Polynomial& numerator, const Polynomial& divisor) {
  if (numerator.is_broken() || divisor.is_broken()) return Polynomial::broken();
  const Interval range = interval(numerator);
  const auto number = divisor.constant();
  const bool plain = number && *number > 0 && range.has_low() && range.low >= 0;
  if (plain) return floor_of(numerator, *number);
  if (number && *number == 1) return numerator;
  if (const auto exact = numerator.divided_by(divisor)) return *exact;
  const Key key{4, numerator, divisor};
  SymbolInfo info;
  info.name = fmt::format("(({}) / ({}))", text(numerator), text(divisor));
  info.range = {0, range.high};
  info.is_quotient = true;
  info.parts = parts_of(numerator, divisor);
  return quotient(key, std::move(info), numerator, divisor);
}

std::vector<Symbols::Rounded> Symbols::rounded(const Polynomial& fact) const {
  std::vector<Rounded> all;
  for (const auto& [key, symbol] : functions_) {
    const bool divides = key.kind == 1 || key.kind == 4;
    const auto factor = divides ? (key.a - fact).divided_by(key.b) : std::nullopt;
    if (factor) all.push_back({Polynomial::symbol(symbol) - *factor, key.a, key.b});
  }
  return all;
}

Polynomial Symbols::modulo(const Polynomial& numerator, int64_t divisor) {
  return numerator - Polynomial(divisor) * floor_of(numerator, divisor);
}

Polynomial Symbols::extreme_of(const Polynomial& a, const Polynomial& b, bool larger) {
  if (a.is_broken() || b.is_broken()) return Polynomial::broken();
  const Interval gap = interval(larger ? a - b : b - a);
  if (gap.has_low() && gap.low >= 0) return a;
  if (gap.has_high() && gap.high <= 0) return b;
  const Key key{larger ? 3 : 2, a, b};
  SymbolInfo info;
  info.name = fmt::format("{}({}, {})", larger ? "max" : "min", text(a), text(b));
  const Interval left = interval(a);
  const Interval right = interval(b);
  const auto pick = [larger](int64_t x, int64_t y) {
    return larger ? std::max(x, y) : std::min(x, y);
  };
  // -kNone and kNone compare as minus and plus infinity.
  info.range = {pick(left.low, right.low), pick(left.high, right.high)};
  info.parts = parts_of(a, b);
  const bool is_new = !functions_.contains(key);
  const Symbol one = function(key, std::move(info));
  if (is_new) {
    const Polynomial it = Polynomial::symbol(one);
    const Polynomial sign(larger ? 1 : -1);
    all_[one].facts = {sign * (it - a), sign * (it - b)};
    Assumption is_a;
    Assumption is_b;
    add_equality(is_a.facts, it, a);
    add_equality(is_b.facts, it, b);
    is_a.facts.push_back(sign * (a - b));
    is_b.facts.push_back(sign * (b - a));
    all_[one].cases = {{is_a, is_b}};
  }
  return Polynomial::symbol(one);
}

Polynomial reduced(Polynomial poly, const Assumption& way) {
  for (auto one = way.facts.begin(); one != way.facts.end(); ++one) {
    // 4 a - 4 b == 0 means a - b == 0.
    const Polynomial fact = one->normalized();
    if (fact.is_broken()) continue;
    const Polynomial opposite = Polynomial(-1) * fact;
    // Only the first of the two, because the second would undo the substitution.
    const bool equal = std::any_of(one + 1, way.facts.end(), [&](const Polynomial& other) {
      return other.normalized() == opposite;
    });
    if (!equal) continue;
    const std::set<Symbol> symbols = fact.symbols();
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
      const auto parts = fact.linear_in(*symbol);
      const auto factor = parts ? parts->factor.constant() : std::nullopt;
      if (!factor || (*factor != 1 && *factor != -1) || !poly.has(*symbol)) continue;
      poly = poly.replaced(*symbol, Polynomial(-*factor) * parts->rest);
      break;
    }
  }
  return poly;
}

void add_equality(std::vector<Polynomial>& facts, const Polynomial& a, const Polynomial& b) {
  facts.push_back(a - b);
  facts.push_back(b - a);
}

}  // namespace gpuemu::inbounds
