// Whether an inequality over atoms follows from others. A search for a derivation: what it finds
// holds; what it does not find may hold too.
#pragma once

#include <set>
#include <vector>

#include "judge/inbounds/atoms.h"
#include "judge/inbounds/limits.h"

namespace gpuemu::prove {

/// What is known at one place of a program.
struct Known {
  std::vector<Poly> facts;    ///< >= 0
  std::vector<Poly> unequal;  ///< Not 0.
  std::vector<Alternatives> cases;

  void add(const Assumption& assumption);
  /// One of them holds; a single one simply does.
  void add(const Alternatives& alternatives);
};

class Prover {
 public:
  explicit Prover(const Atoms& atoms) : atoms_(atoms) {}

  /// goal >= 0, for every value of the atoms that `known` and what is known of the atoms allow.
  bool holds(const Poly& goal, const Known& known);
  bool holds_between(const Poly& value, const Interval& range, const Known& known);
  /// goal != 0
  bool differs(const Poly& goal, const Known& known);

 private:
  using Seen = std::set<Poly>;
  enum class Order : uint8_t { LatestFirst, ShortestFirst };
  bool by_cases(const Poly& goal, const Known& known, size_t first, uint32_t depth);
  std::vector<Alternatives> cases_for(const Poly& goal, const Known& known) const;
  bool contradictory(const Assumption& added, const Known& known);
  bool derive(const Poly& goal, const Known& known);
  bool search(Poly goal, const Known& known, Seen& seen, uint32_t depth);
  /// What is to be shown instead when a fact bounds the atom; added to `weaker`.
  void eliminate(const Poly& goal, Atom atom, const Known& known, std::vector<Poly>& weaker) const;
  std::optional<Poly> weakened(const Poly& goal, const Poly& factor, const Poly& fact,
                               Atom atom) const;
  int sign_of(const Poly& poly) const;

  const Atoms& atoms_;
  Order order_ = Order::LatestFirst;
  uint32_t steps_left_ = 0;  // Of the goal.
  uint32_t all_steps_left_ = kLaunchStepsMax;
};

}  // namespace gpuemu::prove
