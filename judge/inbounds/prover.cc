#include "judge/inbounds/prover.h"

#include <algorithm>
#include <numeric>

#include "judge/inbounds/limits.h"

namespace gpuemu::prove {
namespace {

bool share_atoms(const Poly& a, const std::set<Atom>& atoms) {
  return std::ranges::any_of(a.atoms(), [&](Atom atom) { return atoms.contains(atom); });
}

bool share_atoms(const Alternatives& cases, const std::set<Atom>& atoms) {
  return std::ranges::any_of(cases, [&](const Assumption& one) {
    return std::ranges::any_of(one.facts, [&](const Poly& f) { return share_atoms(f, atoms); });
  });
}

/// The positive number k with a = k * b.
std::optional<int64_t> ratio_of(const Poly& a, const Poly& b) {
  if (a.terms().empty() || b.terms().empty()) return std::nullopt;
  const int64_t left = a.terms().begin()->second;
  const int64_t right = b.terms().begin()->second;
  if (right == -1 || left % right != 0 || left / right <= 0) return std::nullopt;
  return a == b * Poly(left / right) ? std::optional(left / right) : std::nullopt;
}

/// The two ways in which a number is not 0.
Alternatives sides_of(const Poly& unequal) {
  return {Assumption{{unequal - Poly(1)}, {}}, Assumption{{Poly(-1) - unequal}, {}}};
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

bool Prover::holds(const Poly& goal, const Known& known) {
  if (goal.is_broken()) return false;
  const uint32_t allowed = std::min(kProofStepsMax, all_steps_left_);
  steps_left_ = allowed;
  const bool found = derive(goal, known) || by_cases(goal, known, 0, kCaseDepthMax);
  all_steps_left_ -= allowed - steps_left_;
  return found;
}

bool Prover::holds_between(const Poly& value, const Interval& range, const Known& known) {
  return (!range.has_low() || holds(value - Poly(range.low), known)) &&
         (!range.has_high() || holds(Poly(range.high) - value, known));
}

bool Prover::differs(const Poly& goal, const Known& known) {
  return holds(goal - Poly(1), known) || holds(Poly(-1) - goal, known);
}

std::vector<Alternatives> Prover::cases_for(const Poly& goal, const Known& known) const {
  std::vector<Alternatives> all;
  const std::set<Atom> wanted = goal.atoms();
  std::set<Atom> near = wanted;
  for (const Poly& fact : known.facts) {
    if (share_atoms(fact, wanted)) near.merge(fact.atoms());
  }
  // What the goal speaks of itself first.
  for (const bool direct : {true, false}) {
    for (auto atom = near.rbegin(); atom != near.rend(); ++atom) {
      if (wanted.contains(*atom) != direct) continue;
      const auto& cases = atoms_[*atom].cases;
      all.insert(all.end(), cases.begin(), cases.end());
    }
  }
  for (const Alternatives& one : known.cases) {
    if (share_atoms(one, near)) all.push_back(one);
  }
  for (const Poly& one : known.unequal) {
    if (share_atoms(one, near)) all.push_back(sides_of(one));
  }
  // Whole numbers: a quotient is 0, or at least 1.
  for (const Atom atom : near) {
    if (!atoms_[atom].is_quotient) continue;
    const Poly it = Poly::atom(atom);
    all.push_back({Assumption{{Poly(-1) * it}, {}}, Assumption{{it - Poly(1)}, {}}});
  }
  return all;
}

bool Prover::by_cases(const Poly& goal, const Known& known, size_t first, uint32_t depth) {
  if (depth == 0) return false;
  const std::vector<Alternatives> choices = cases_for(goal, known);
  for (size_t i = first; i < choices.size() && steps_left_ > 0; ++i) {
    const bool all = std::ranges::all_of(choices[i], [&](const Assumption& one) {
      Known more = known;
      more.add(one);
      if (derive(goal, more) || contradictory(one, more)) return true;
      // An equality of the case may say the goal in other words, of which others cases speak.
      const Poly same = reduced(goal, one);
      if (same.is_broken() || same == goal) return by_cases(goal, more, i + 1, depth - 1);
      return derive(same, more) || by_cases(same, more, 0, depth - 1);
    });
    if (all) return true;
  }
  return false;
}

bool Prover::contradictory(const Assumption& added, const Known& known) {
  return std::ranges::any_of(added.facts, [&](const Poly& fact) {
    return !fact.is_broken() && derive(Poly(-1) - fact, known);
  });
}

// One derivation may not use up what the distinctions of cases need. Two orders: what was defined
// last first, or what leaves the least; neither finds all that the other one does.
bool Prover::derive(const Poly& goal, const Known& known) {
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

bool Prover::search(Poly goal, const Known& known, Seen& seen, uint32_t depth) {
  if (goal.is_broken()) return false;
  goal = goal.normalized();
  const Interval range = atoms_.interval(goal);
  if (range.has_low() && range.low >= 0) return true;
  if (range.has_high() && range.high < 0) return false;
  if (depth == 0 || steps_left_ == 0 || !seen.insert(goal).second) return false;
  --steps_left_;
  const auto follows = [&](std::vector<Poly>& weaker) {
    // What leaves the least is the nearest to a number.
    std::ranges::stable_sort(weaker, {}, [](const Poly& one) { return one.terms().size(); });
    return std::ranges::any_of(
        weaker, [&](const Poly& one) { return search(one, known, seen, depth - 1); });
  };
  // What was defined last is bounded by what came before it.
  const std::set<Atom> atoms = goal.atoms();
  std::vector<Poly> weaker;
  for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
    eliminate(goal, *atom, known, weaker);
    if (order_ == Order::ShortestFirst) continue;
    if (follows(weaker)) return true;
    weaker.clear();
  }
  return follows(weaker);
}

void Prover::eliminate(const Poly& goal, Atom atom, const Known& known,
                       std::vector<Poly>& weaker) const {
  const auto parts = goal.linear_in(atom);
  if (!parts || sign_of(parts->factor) == 0) return;
  const auto use = [&](const Poly& fact) {
    auto one = weakened(goal, parts->factor, fact, atom);
    if (one && !one->is_broken()) weaker.push_back(*std::move(one));
  };
  // Guards stand at the end, and say more than what holds anyway.
  std::for_each(known.facts.rbegin(), known.facts.rend(), use);
  const AtomInfo& info = atoms_[atom];
  std::ranges::for_each(info.facts, use);
  const Poly it = Poly::atom(atom);
  if (info.range.has_low()) use(it - Poly(info.range.low));
  if (info.range.has_high()) use(Poly(info.range.high) - it);
}

int Prover::sign_of(const Poly& poly) const {
  const Interval range = atoms_.interval(poly);
  if (range.has_low() && range.low >= 0) return 1;
  return range.has_high() && range.high <= 0 ? -1 : 0;
}

// fact = d * atom + e >= 0 and goal = c * atom + r with c and d of one sign: |d| goal - |c| fact
// has no atom, and where it is >= 0 so is the goal. Whole numbers: |d| goal > -|d| is enough.
std::optional<Poly> Prover::weakened(const Poly& goal, const Poly& factor, const Poly& fact,
                                     Atom atom) const {
  if (fact.is_broken() || !fact.has(atom)) return std::nullopt;
  const auto parts = fact.linear_in(atom);
  if (!parts) return std::nullopt;
  const int sign = sign_of(factor);
  if (sign == 0 || sign != sign_of(parts->factor)) return std::nullopt;
  const Poly c = factor * Poly(sign);
  const Poly d = parts->factor * Poly(sign);
  // A factor that is 0 may hide the sign of the other one.
  if (const auto times = c.divided_by(d); times && sign_of(*times) > 0) return goal - *times * fact;
  if (const auto times = ratio_of(c, d)) return goal - Poly(*times) * fact;
  const Interval least = atoms_.interval(d);
  if (!least.has_low() || least.low < 1) return std::nullopt;
  const auto number = d.constant();
  if (!number) return d * goal - c * fact + d - Poly(1);
  int64_t common = *number;
  for (const auto& [monomial, coefficient] : c.terms()) {
    if (coefficient == INT64_MIN) return std::nullopt;
    common = std::gcd(common, coefficient);
  }
  const Poly by(*number / common);
  Poly share;
  for (const auto& [monomial, coefficient] : c.terms()) {
    Poly term(coefficient / common);
    for (const Atom one : monomial) term = term * Poly::atom(one);
    share += term;
  }
  return by * goal - share * fact + by - Poly(1);
}

}  // namespace gpuemu::prove
