#include "judge/inbounds/atoms.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace gpuemu::prove {
namespace {

__extension__ using Wide = __int128;
constexpr Wide kFar = Wide{1} << 62;

// A bound that does not fit is left out, or moved to the harmless side.
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

/// Products of bounded intervals, and of those that are not negative.
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

std::vector<Atom> parts_of(const Poly& a, const Poly& b) {
  std::set<Atom> all = a.atoms();
  all.merge(b.atoms());
  return {all.begin(), all.end()};
}

}  // namespace

bool Atoms::Key::operator<(const Key& other) const {
  return std::tie(kind, a, b) < std::tie(other.kind, other.a, other.b);
}

Atom Atoms::add(AtomInfo info) {
  all_.push_back(std::move(info));
  return static_cast<Atom>(all_.size() - 1);
}

Interval Atoms::interval(const Poly& poly) const {
  if (poly.is_broken()) return {};
  Interval all{0, 0};
  for (const auto& [monomial, coefficient] : poly.terms()) {
    Interval term{1, 1};
    for (const Atom atom : monomial) term = product(term, all_[atom].range);
    all = sum(all, scaled(term, coefficient));
  }
  return all;
}

std::string Atoms::text(const Poly& poly) const {
  return poly.text([this](Atom atom) { return all_[atom].name; });
}

Atom Atoms::function(const Key& key, AtomInfo info) {
  const auto [place, added] = functions_.try_emplace(key, 0);
  if (added) place->second = add(std::move(info));
  return place->second;
}

Poly Atoms::floor_of(const Poly& numerator, int64_t divisor) {
  if (numerator.is_broken() || divisor == 1) return numerator;
  const auto [whole, rest] = numerator.split_by(divisor);
  const Interval range = floored(interval(rest), divisor);
  if (range.has_low() && range.low == range.high) return whole + Poly(range.low);
  const Key key{0, rest, Poly(divisor)};
  AtomInfo info;
  info.name = fmt::format("floor(({}) / {})", text(rest), divisor);
  info.range = range;
  info.is_quotient = range.low == 0;
  info.parts = parts_of(rest, {});
  const bool is_new = !functions_.contains(key);
  const Atom quotient = function(key, std::move(info));
  if (is_new) {
    const Poly product = Poly::atom(quotient) * Poly(divisor);
    all_[quotient].facts = {rest - product, product + Poly(divisor - 1) - rest};
  }
  return whole + Poly::atom(quotient);
}

Poly Atoms::quotient(const Key& key, AtomInfo info, const Poly& numerator, const Poly& divisor) {
  const bool is_new = !functions_.contains(key);
  const Atom result = function(key, std::move(info));
  if (is_new) {
    const Poly product = Poly::atom(result) * divisor;
    all_[result].facts = {numerator - product, product + divisor - Poly(1) - numerator};
  }
  return Poly::atom(result);
}

Poly Atoms::floor_of(const Poly& numerator, const Poly& divisor) {
  if (const auto number = divisor.constant(); number && *number > 0) {
    return floor_of(numerator, *number);
  }
  if (numerator.is_broken() || divisor.is_broken()) return Poly::broken();
  if (const auto exact = numerator.divided_by(divisor)) return *exact;
  const Key key{1, numerator, divisor};
  AtomInfo info;
  info.name = fmt::format("floor(({}) / ({}))", text(numerator), text(divisor));
  const Interval range = interval(numerator);
  if (range.has_low()) info.range.low = std::min<int64_t>(range.low, 0);
  if (range.has_high()) info.range.high = std::max<int64_t>(range.high, 0);
  if (range.has_low() && range.low >= 0) info.range.low = 0;
  info.parts = parts_of(numerator, divisor);
  return quotient(key, std::move(info), numerator, divisor);
}

Poly Atoms::quotient_of(const Poly& numerator, const Poly& divisor) {
  if (numerator.is_broken() || divisor.is_broken()) return Poly::broken();
  const Interval range = interval(numerator);
  const auto number = divisor.constant();
  const bool plain = number && *number > 0 && range.has_low() && range.low >= 0;
  if (plain) return floor_of(numerator, *number);
  if (number && *number == 1) return numerator;
  if (const auto exact = numerator.divided_by(divisor)) return *exact;
  const Key key{4, numerator, divisor};
  AtomInfo info;
  info.name = fmt::format("(({}) / ({}))", text(numerator), text(divisor));
  info.range = {0, range.high};
  info.is_quotient = true;
  info.parts = parts_of(numerator, divisor);
  return quotient(key, std::move(info), numerator, divisor);
}

std::vector<Atoms::Rounded> Atoms::rounded(const Poly& fact) const {
  std::vector<Rounded> all;
  for (const auto& [key, atom] : functions_) {
    const bool divides = key.kind == 1 || key.kind == 4;
    const auto factor = divides ? (key.a - fact).divided_by(key.b) : std::nullopt;
    if (factor) all.push_back({Poly::atom(atom) - *factor, key.a, key.b});
  }
  return all;
}

Poly Atoms::modulo(const Poly& numerator, int64_t divisor) {
  return numerator - Poly(divisor) * floor_of(numerator, divisor);
}

Poly Atoms::extreme_of(const Poly& a, const Poly& b, bool larger) {
  if (a.is_broken() || b.is_broken()) return Poly::broken();
  const Interval gap = interval(larger ? a - b : b - a);
  if (gap.has_low() && gap.low >= 0) return a;
  if (gap.has_high() && gap.high <= 0) return b;
  const Key key{larger ? 3 : 2, a, b};
  AtomInfo info;
  info.name = fmt::format("{}({}, {})", larger ? "max" : "min", text(a), text(b));
  const Interval left = interval(a);
  const Interval right = interval(b);
  const auto pick = [larger](int64_t x, int64_t y) {
    return larger ? std::max(x, y) : std::min(x, y);
  };
  // -kNone and kNone order as minus and plus infinity.
  info.range = {pick(left.low, right.low), pick(left.high, right.high)};
  info.parts = parts_of(a, b);
  const bool is_new = !functions_.contains(key);
  const Atom one = function(key, std::move(info));
  if (is_new) {
    const Poly it = Poly::atom(one);
    const Poly sign(larger ? 1 : -1);
    all_[one].facts = {sign * (it - a), sign * (it - b)};
    Assumption is_a;
    Assumption is_b;
    add_equality(is_a.facts, it, a);
    add_equality(is_b.facts, it, b);
    is_a.facts.push_back(sign * (a - b));
    is_b.facts.push_back(sign * (b - a));
    all_[one].cases = {{is_a, is_b}};
  }
  return Poly::atom(one);
}

Poly reduced(Poly poly, const Assumption& way) {
  for (auto one = way.facts.begin(); one != way.facts.end(); ++one) {
    // 4 a - 4 b == 0 says a - b == 0.
    const Poly fact = one->normalized();
    if (fact.is_broken()) continue;
    const Poly opposite = Poly(-1) * fact;
    // Of the two only the first: the second one would put back what it has taken out.
    const bool equal = std::any_of(one + 1, way.facts.end(), [&](const Poly& other) {
      return other.normalized() == opposite;
    });
    if (!equal) continue;
    const std::set<Atom> atoms = fact.atoms();
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      const auto parts = fact.linear_in(*atom);
      const auto factor = parts ? parts->factor.constant() : std::nullopt;
      if (!factor || (*factor != 1 && *factor != -1) || !poly.has(*atom)) continue;
      poly = poly.replaced(*atom, Poly(-*factor) * parts->rest);
      break;
    }
  }
  return poly;
}

void add_equality(std::vector<Poly>& facts, const Poly& a, const Poly& b) {
  facts.push_back(a - b);
  facts.push_back(b - a);
}

}  // namespace gpuemu::prove
