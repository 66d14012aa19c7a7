// Whether an inequality over symbols follows from others. A search for a derivation: what it finds
// holds; what it does not find may hold too.
#pragma once

#include <set>
#include <vector>

#include "judge/inbounds/limits.h"
#include "judge/inbounds/symbols.h"

namespace gpuemu::inbounds {

/// What is known at one place of a program.
struct Known {
  std::vector<Polynomial> facts;    ///< >= 0
  std::vector<Polynomial> unequal;  ///< Not 0.
  std::vector<Alternatives> cases;

  void add(const Assumption& assumption);
  /// One of them holds; a single one simply does.
  void add(const Alternatives& alternatives);
};

class InequalityProver {
 public:
  explicit InequalityProver(const Symbols& symbols) : symbols_(symbols) {}

  /// goal >= 0, for every value of the symbols that `known` and what is known of the symbols allow.
  bool holds(const Polynomial& goal, const Known& known);
  bool holds_between(const Polynomial& value, const Interval& range, const Known& known);
  /// goal != 0
  bool differs(const Polynomial& goal, const Known& known);

 private:
  using Seen = std::set<Polynomial>;
  enum class Order : uint8_t { LatestFirst, ShortestFirst };
  bool by_cases(const Polynomial& goal, const Known& known, size_t first, uint32_t depth);
  std::vector<Alternatives> cases_for(const Polynomial& goal, const Known& known) const;
  bool contradictory(const Assumption& added, const Known& known);
  bool derive(const Polynomial& goal, const Known& known);
  bool search(Polynomial goal, const Known& known, Seen& seen, uint32_t depth);
  /// What is to be shown instead when a fact bounds the symbol; added to `weaker`.
  void eliminate(const Polynomial& goal, Symbol symbol, const Known& known,
                 std::vector<Polynomial>& weaker) const;
  std::optional<Polynomial> weakened(const Polynomial& goal, const Polynomial& factor,
                                     const Polynomial& fact, Symbol symbol) const;
  int sign_of(const Polynomial& poly) const;

  const Symbols& symbols_;
  Order order_ = Order::LatestFirst;
  uint32_t steps_left_ = 0;  // For the goal.
  uint32_t all_steps_left_ = kLaunchStepsMax;
};

}  // namespace gpuemu::inbounds
