// Computes the value of every register of a kernel entry as a polynomial over the launch, for all
// threads and all data at once.
//
// A register of w bits and its polynomial agree modulo 2^w. Some instructions need the number
// itself (widening, comparing, dividing). That the polynomial fits its type is then proved, or
// assumed and proved later. An assumption about one moment of the execution is checked using only
// what holds at earlier moments, so all assumptions together form an induction over time. Those
// that fail are dropped, and everything is evaluated again without them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/kernel_records.gen.h"
#include "judge/inbounds/launch_domain.h"
#include "judge/inbounds/prover.h"
#include "judge/inbounds/ssa.h"

namespace gpuemu::inbounds {

struct Value {
  /// For a value that is not a predicate; broken: unknown.
  Polynomial poly = Polynomial::broken();
  Alternatives when_true, when_false;  ///< For a predicate; empty: unknown.
};

/// A memory access of one instruction.
struct Access {
  uint32_t instruction = 0;
  ptx::Space space = ptx::Space::Generic;
  MemoryUseKind kind = MemoryUseKind::Access;
  std::string region;  ///< "" if unknown.
  bool proved = false;
  std::string reason;          ///< Why it is not proved.
  std::string offset, extent;  ///< In bytes, human-readable.
};

/// An operand that is an address.
struct Use {
  MemoryUseKind kind;
  size_t operand;  ///< Its index.
  ptx::Space space;
  uint64_t bytes;  ///< 0: the size is not understood.
};
std::vector<Use> uses_of(const ptx::Instruction& instruction);

/// Lists all accesses of an entry that is not analysed, as not proved.
std::vector<Access> list_accesses(const ptx::Function& entry, const std::string& reason);

class Evaluator {
 public:
  /// Requires that all arguments outlive this object, and flow.reducible.
  Evaluator(const ptx::Module& module, const ptx::Function& function, const Flow& flow,
            LaunchDomain space);

  std::vector<Access> run();

 private:
  /// How a register changes from one iteration of a loop to the next.
  struct Form {
    enum class Kind { Undecided, Steady, Ranged } kind = Kind::Undecided;
    Polynomial step;  ///< Steady: the increment per iteration.
  };
  /// An assumption, where it was made, and what must hold to justify it.
  struct Duty {
    std::string key;
    Known known;
    std::vector<Polynomial> goals;
  };
  /// A property that holds for a register when a loop begins, and that should stay true.
  struct Candidate {
    std::string key;
    ValueId meeting;
    const Loop* loop;
    Symbol symbol;  ///< The register as an unsigned number up to `most`.
    Polynomial fact;
    int64_t most;
  };
  struct Integer {
    uint32_t bits = 32;
    bool is_signed = false;
  };

  // evaluator.cc: one walk over the blocks
  void walk();
  void enter(uint32_t block);
  void evaluate(uint32_t at);
  Known known_at(uint32_t at) const;
  Known known_on_edge(uint32_t from, uint32_t to) const;
  Alternatives condition_of_edge(uint32_t from, uint32_t to) const;
  Alternatives guard_of(uint32_t at) const;
  const Value& value_of(ValueId value) const;
  void assign(uint32_t at, uint32_t reg, Polynomial poly);
  Polynomial choice(const std::string& key, int32_t home, const Alternatives& ways,
                    const std::vector<Polynomial>& values);
  Polynomial unknown(const std::string& key, int32_t home, Interval range,
                     const std::string& reason);
  Polynomial unknown_result(uint32_t at, uint32_t reg, const std::string& reason);
  std::string place(uint32_t at) const;
  /// Returns `poly` if it is the number that the bits represent; see above.
  std::optional<Polynomial> exact(uint32_t at, const Polynomial& poly, Integer type, int slot);
  bool settle();

  // operations.cc: one instruction
  Polynomial operand(uint32_t at, size_t index, Integer type) const;
  Polynomial special(const std::string& name) const;
  Polynomial address_of(const std::string& variable);
  /// Returns what must be added to an address in `space` to make it a generic address.
  Polynomial window_of(ptx::Space space);
  std::optional<Polynomial> compute(uint32_t at);
  std::optional<Polynomial> arithmetic(uint32_t at, Integer type);
  std::optional<Polynomial> product(uint32_t at, Integer type);
  std::optional<Polynomial> quotient(uint32_t at, Integer type);
  std::optional<Polynomial> shifted(uint32_t at, Integer type);
  std::optional<Polynomial> masked(uint32_t at, Integer type);
  std::optional<Polynomial> bits_kept(const Polynomial& poly, uint64_t mask);
  std::optional<Polynomial> converted(uint32_t at);
  std::optional<Polynomial> selected(uint32_t at, Integer type);
  std::optional<Polynomial> loaded_param(uint32_t at);
  std::optional<Polynomial> moved(uint32_t at, Integer type);
  void compare(uint32_t at);
  void combine_predicates(uint32_t at);
  Interval range_of_result(uint32_t at, uint32_t reg) const;

  // loops.cc: what changes from iteration to iteration
  void meet(ValueId meeting);
  void meet_in_loop(ValueId meeting, const Loop& loop);
  Symbol counter_of(const Loop& loop);
  bool is_invariant(Symbol symbol, const Loop& loop) const;
  bool is_invariant(const Polynomial& poly, const Loop& loop) const;
  void find_loop_facts(const Loop& loop);
  void add_countdown(const Polynomial& unequal, Symbol counter, const Known& entry);
  bool find_forms();
  Form form_of(ValueId meeting, const Loop& loop) const;
  std::optional<Polynomial> initial(ValueId meeting, const Loop& loop) const;
  std::vector<ValueId> next_values(ValueId meeting, const Loop& loop) const;
  Polynomial ranged(ValueId meeting, const Loop& loop, const std::optional<Polynomial>& from);
  std::optional<Known> known_before(const Loop& loop) const;
  void add_duties_of_candidates();

  // accesses.cc
  std::vector<Access> accesses();
  Polynomial address(uint32_t at, const ptx::Operand& operand);
  Access judge(uint32_t at, const Use& use);
  std::string blame(const Polynomial& poly) const;

  const ptx::Module& module_;
  const ptx::Function& function_;
  const Flow& flow_;
  LaunchDomain space_;
  Ssa ssa_;
  InequalityProver prover_{space_.symbols};
  std::vector<Value> values_;  // By ValueId.
  std::vector<Known> known_;   // Per block, at its beginning.
  std::map<ValueId, Form> forms_;
  std::vector<Duty> duties_;
  std::vector<Candidate> candidates_;
  std::set<std::string> denied_;                 // Assumptions that did not hold.
  bool trusting_ = true;                         // False: nothing is assumed any more.
  std::map<std::string, Symbol> named_;          // Symbols by purpose, the same in every walk.
  std::map<std::string, Polynomial> variables_;  // Addresses of variables.
};

}  // namespace gpuemu::inbounds
