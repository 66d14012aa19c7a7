#include "judge/inbounds/prover.h"

#include <algorithm>
#include <numeric>

#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {
namespace {

bool share_symbols(const Polynomial& a, const std::set<Symbol>& symbols) {
  return std::ranges::any_of(a.symbols(), [&](Symbol symbol) { return symbols.contains(symbol); });
}

bool share_symbols(const Alternatives& cases, const std::set<Symbol>& symbols) {
  return std::ranges::any_of(cases, [&](const Assumption& one) {
    return std::ranges::any_of(one.facts,
                               [&](const Polynomial& f) { return share_symbols(f, symbols); });
  });
}

/// Returns the positive number k with a = k * b.
std::optional<int64_t> ratio_of(const Polynomial& a, const Polynomial& b) {
  if (a.terms().empty() || b.terms().empty()) return std::nullopt;
  const int64_t left = a.terms().begin()->second;
  const int64_t right = b.terms().begin()->second;
  if (right == -1 || left % right != 0 || left / right <= 0) return std::nullopt;
  return a == b * Polynomial(left / right) ? std::optional(left / right) : std::nullopt;
}

/// Returns the two alternatives of a number that is not 0.
Alternatives sides_of(const Polynomial& unequal) {
  return {Assumption{{unequal - Polynomial(1)}, {}}, Assumption{{Polynomial(-1) - unequal}, {}}};
}

}  // namespace

void Known::add(const Assumption& assumption) {
  facts.insert(facts.end(), assumption.facts.begin(), assumption.facts.end());
  unequal.insert(unequal.end(), assumption.unequal.begin(), assumption.unequal.end());
}

void Known::add(const Alternatives& alternatives) {
  if (alternatives.size() == 1) {
    add(alternatives.front());
  } else if (alternatives.size() > 1) {
    cases.push_back(alternatives);
  }
}

bool InequalityProver::holds(const Polynomial& goal, const Known& known) {
  if (goal.is_broken()) return false;
  const uint32_t allowed = std::min(kProofStepsMax, all_steps_left_);
  steps_left_ = allowed;
  const bool found = derive(goal, known) || by_cases(goal, known, 0, kCaseDepthMax);
  all_steps_left_ -= allowed - steps_left_;
  return found;
}

bool InequalityProver::holds_between(const Polynomial& value, const Interval& range,
                                     const Known& known) {
  return (!range.has_low() || holds(value - Polynomial(range.low), known)) &&
         (!range.has_high() || holds(Polynomial(range.high) - value, known));
}

bool InequalityProver::differs(const Polynomial& goal, const Known& known) {
  return holds(goal - Polynomial(1), known) || holds(Polynomial(-1) - goal, known);
}

std::vector<Alternatives> InequalityProver::cases_for(const Polynomial& goal,
                                                      const Known& known) const {
  std::vector<Alternatives> all;
  const std::set<Symbol> wanted = goal.symbols();
  std::set<Symbol> near = wanted;
  for (const Polynomial& fact : known.facts) {
    if (share_symbols(fact, wanted)) near.merge(fact.symbols());
  }
  // Tries symbols of the goal itself first.
  for (const bool direct : {true, false}) {
    for (auto symbol = near.rbegin(); symbol != near.rend(); ++symbol) {
      if (wanted.contains(*symbol) != direct) continue;
      const auto& cases = symbols_[*symbol].cases;
      all.insert(all.end(), cases.begin(), cases.end());
    }
  }
  for (const Alternatives& one : known.cases) {
    if (share_symbols(one, near)) all.push_back(one);
  }
  for (const Polynomial& one : known.unequal) {
    if (share_symbols(one, near)) all.push_back(sides_of(one));
  }
  // For whole numbers, a quotient is 0 or at least 1.
  for (const Symbol symbol : near) {
    if (!symbols_[symbol].is_quotient) continue;
    const Polynomial it = Polynomial::symbol(symbol);
    all.push_back({Assumption{{Polynomial(-1) * it}, {}}, Assumption{{it - Polynomial(1)}, {}}});
  }
  return all;
}

bool InequalityProver::by_cases(const Polynomial& goal, const Known& known, size_t first,
                                uint32_t depth) {
  if (depth == 0) return false;
  const std::vector<Alternatives> choices = cases_for(goal, known);
  for (size_t i = first; i < choices.size() && steps_left_ > 0; ++i) {
    const bool all = std::ranges::all_of(choices[i], [&](const Assumption& one) {
      Known more = known;
      more.add(one);
      if (derive(goal, more) || contradictory(one, more)) return true;
      // An equality of the case may restate the goal in terms for which other cases exist.
      const Polynomial same = reduced(goal, one);
      if (same.is_broken() || same == goal) return by_cases(goal, more, i + 1, depth - 1);
      return derive(same, more) || by_cases(same, more, 0, depth - 1);
    });
    if (all) return true;
  }
  return false;
}

bool InequalityProver::contradictory(const Assumption& added, const Known& known) {
  return std::ranges::any_of(added.facts, [&](const Polynomial& fact) {
    return !fact.is_broken() && derive(Polynomial(-1) - fact, known);
  });
}

// Limits a derivation, so that case distinctions have steps left. Tries two orders: the symbol
// defined last first, or the substitution with the shortest result; neither finds everything that
// the other does.
bool InequalityProver::derive(const Polynomial& goal, const Known& known) {
  for (const Order order : {Order::LatestFirst, Order::ShortestFirst}) {
    if (steps_left_ == 0) return false;
    const uint32_t kept = steps_left_ - std::min(steps_left_, kDerivationStepsMax);
    steps_left_ -= kept;
    order_ = order;
    Seen seen;
    const bool found = search(goal, known, seen, kProofDepthMax);
    steps_left_ += kept;
    if (found) return true;
  }
  return false;
}

bool InequalityProver::search(Polynomial goal, const Known& known, Seen& seen, uint32_t depth) {
  if (goal.is_broken()) return false;
  goal = goal.normalized();
  const Interval range = symbols_.interval(goal);
  if (range.has_low() && range.low >= 0) return true;
  if (range.has_high() && range.high < 0) return false;
  if (depth == 0 || steps_left_ == 0 || !seen.insert(goal).second) return false;
  --steps_left_;
  const auto follows = [&](std::vector<Polynomial>& weaker) {
    // The shortest remainder is the closest to a number.
    std::ranges::stable_sort(weaker, {}, [](const Polynomial& one) { return one.terms().size(); });
    return std::ranges::any_of(
        weaker, [&](const Polynomial& one) { return search(one, known, seen, depth - 1); });
  };
  // A symbol defined later is bounded by symbols defined earlier.
  const std::set<Symbol> symbols = goal.symbols();
  std::vector<Polynomial> weaker;
  for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
    eliminate(goal, *symbol, known, weaker);
    if (order_ == Order::ShortestFirst) continue;
    if (follows(weaker)) return true;
    weaker.clear();
  }
  return follows(weaker);
}

void InequalityProver::eliminate(const Polynomial& goal, Symbol symbol, const Known& known,
                                 std::vector<Polynomial>& weaker) const {
  const auto parts = goal.linear_in(symbol);
  if (!parts || sign_of(parts->factor) == 0) return;
  const auto use = [&](const Polynomial& fact) {
    auto one = weakened(goal, parts->factor, fact, symbol);
    if (one && !one->is_broken()) weaker.push_back(*std::move(one));
  };
  // Guards come last and are stronger than facts that always hold.
  std::for_each(known.facts.rbegin(), known.facts.rend(), use);
  const SymbolInfo& info = symbols_[symbol];
  std::ranges::for_each(info.facts, use);
  const Polynomial it = Polynomial::symbol(symbol);
  if (info.range.has_low()) use(it - Polynomial(info.range.low));
  if (info.range.has_high()) use(Polynomial(info.range.high) - it);
}

int InequalityProver::sign_of(const Polynomial& poly) const {
  const Interval range = symbols_.interval(poly);
  if (range.has_low() && range.low >= 0) return 1;
  return range.has_high() && range.high <= 0 ? -1 : 0;
}

// For fact = d * symbol + e >= 0 and goal = c * symbol + r, with c and d of one sign: |d| goal -
// |c| fact does not contain the symbol, and if it is >= 0, so is the goal. For whole numbers, |d|
// goal > -|d| is enough.
std::optional<Polynomial> InequalityProver::weakened(const Polynomial& goal,
                                                     const Polynomial& factor,
                                                     const Polynomial& fact, Symbol symbol) const {
  if (fact.is_broken() || !fact.has(symbol)) return std::nullopt;
  const auto parts = fact.linear_in(symbol);
  if (!parts) return std::nullopt;
  const int sign = sign_of(factor);
  if (sign == 0 || sign != sign_of(parts->factor)) return std::nullopt;
  const Polynomial c = factor * Polynomial(sign);
  const Polynomial d = parts->factor * Polynomial(sign);
  // A factor of 0 may hide the sign of the other one.
  if (const auto times = c.divided_by(d); times && sign_of(*times) > 0) return goal - *times * fact;
  if (const auto times = ratio_of(c, d)) return goal - Polynomial(*times) * fact;
  const Interval least = symbols_.interval(d);
  if (!least.has_low() || least.low < 1) return std::nullopt;
  const auto number = d.constant();
  if (!number) return d * goal - c * fact + d - Polynomial(1);
  int64_t common = *number;
  for (const auto& [monomial, coefficient] : c.terms()) {
    if (coefficient == INT64_MIN) return std::nullopt;
    common = std::gcd(common, coefficient);
  }
  const Polynomial by(*number / common);
  Polynomial share;
  for (const auto& [monomial, coefficient] : c.terms()) {
    Polynomial term(coefficient / common);
    for (const Symbol one : monomial) term = term * Polynomial::symbol(one);
    share += term;
  }
  return by * goal - share * fact + by - Polynomial(1);
}

}  // namespace gpuemu::inbounds
