// Decides whether an inequality over symbols follows from others, by searching for a derivation.
// What it finds holds; what it does not find may hold too.
#pragma once

#include <set>
#include <vector>

#include "judge/inbounds/limits.h"
#include "judge/inbounds/symbols.h"

namespace gpuemu::inbounds {

/// The facts known at one place of a program.
struct Known {
  std::vector<Polynomial> facts;    ///< Each is >= 0.
  std::vector<Polynomial> unequal;  ///< Each is not 0.
  std::vector<Alternatives> cases;

  void add(const Assumption& assumption);
  /// At least one of the alternatives holds; a single one is a plain fact.
  void add(const Alternatives& alternatives);
};

class InequalityProver {
 public:
  explicit InequalityProver(const Symbols& symbols) : symbols_(symbols) {}

  /// Returns whether goal >= 0 for every value of the symbols that `known` and the symbols' own
  /// facts allow.
  bool holds(const Polynomial& goal, const Known& known);
  bool holds_between(const Polynomial& value, const Interval& range, const Known& known);
  /// Returns whether goal != 0.
  bool differs(const Polynomial& goal, const Known& known);

 private:
  using Seen = std::set<Polynomial>;
  enum class Order : uint8_t { LatestFirst, ShortestFirst };
  bool by_cases(const Polynomial& goal, const Known& known, size_t first, uint32_t depth);
  std::vector<Alternatives> cases_for(const Polynomial& goal, const Known& known) const;
  bool contradictory(const Assumption& added, const Known& known);
  bool derive(const Polynomial& goal, const Known& known);
  bool search(Polynomial goal, const Known& known, Seen& seen, uint32_t depth);
  /// Adds to `weaker` the goals that would be sufficient, one for each fact that bounds the symbol.
  void eliminate(const Polynomial& goal, Symbol symbol, const Known& known,
                 std::vector<Polynomial>& weaker) const;
  std::optional<Polynomial> weakened(const Polynomial& goal, const Polynomial& factor,
                                     const Polynomial& fact, Symbol symbol) const;
  int sign_of(const Polynomial& poly) const;

  const Symbols& symbols_;
  Order order_ = Order::LatestFirst;
  uint32_t steps_left_ = 0;  // For the current goal.
  uint32_t all_steps_left_ = kLaunchStepsMax;
};

}  // namespace gpuemu::inbounds
