// What every register of one kernel entry holds, as a polynomial over the launch, for all threads
// and all data at once.
//
// A register of w bits and its polynomial agree modulo 2^w; where an instruction needs the number
// itself (widening, comparing, dividing), that the polynomial fits its type is proved, or assumed
// and proved later: an assumption about a moment of an execution is checked with nothing but what
// holds because of earlier moments, so that all of them together are an induction over time. What
// fails is dropped, and everything is evaluated again without it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "judge/inbounds/prover.h"
#include "judge/inbounds/space.h"
#include "judge/inbounds/ssa.h"

namespace gpuemu::prove {

struct Value {
  Poly poly = Poly::broken();          ///< Of anything but a predicate; broken: not known.
  Alternatives when_true, when_false;  ///< Of a predicate; empty: nothing is known.
};

/// One use of memory by one instruction.
struct Access {
  uint32_t instruction = 0;
  ptx::Space space = ptx::Space::Generic;
  std::string kind;    ///< "load", "store", "atomic", "copy"
  std::string region;  ///< "" when not known.
  bool proved = false;
  std::string reason;          ///< Why not.
  std::string offset, extent;  ///< In bytes, for people.
};

/// An operand that is an address.
struct Use {
  const char* kind;
  size_t operand;  ///< Its number.
  ptx::Space space;
  uint64_t bytes;  ///< 0: how many is not understood.
};
std::vector<Use> uses_of(const ptx::Instruction& instruction);

/// All accesses of an entry that is not looked into, none proved.
std::vector<Access> list_accesses(const ptx::Function& entry, const std::string& reason);

class Evaluator {
 public:
  /// REQUIRES: all outlive this; flow.reducible.
  Evaluator(const ptx::Module& module, const ptx::Function& function, const Flow& flow,
            LaunchSpace space);

  std::vector<Access> run();

 private:
  /// How a register changes from one iteration of a loop to the next.
  struct Form {
    enum class Kind { Undecided, Steady, Ranged } kind = Kind::Undecided;
    Poly step;  ///< Steady: what is added in every iteration.
  };
  /// What was assumed, where, and what must hold for it.
  struct Duty {
    std::string key;
    Known known;
    std::vector<Poly> goals;
  };
  /// Something that is true of a register at the beginning of a loop and shall stay so.
  struct Candidate {
    std::string key;
    ValueId meeting;
    const Loop* loop;
    Atom atom;  ///< Of the register, as a number without a sign up to `most`.
    Poly fact;
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
  void assign(uint32_t at, uint32_t reg, Poly poly);
  Poly choice(const std::string& key, int32_t home, const Alternatives& ways,
              const std::vector<Poly>& values);
  Poly unknown(const std::string& key, int32_t home, Interval range, const std::string& reason);
  Poly unknown_result(uint32_t at, uint32_t reg, const std::string& reason);
  std::string place(uint32_t at) const;
  /// `poly` when it is the number that the bits stand for; see above.
  std::optional<Poly> exact(uint32_t at, const Poly& poly, Integer type, int slot);
  bool settle();

  // operations.cc: one instruction
  Poly operand(uint32_t at, size_t index, Integer type) const;
  Poly special(const std::string& name) const;
  Poly address_of(const std::string& variable);
  /// What is added to an address in `space` to make it a generic one.
  Poly window_of(ptx::Space space);
  std::optional<Poly> compute(uint32_t at);
  std::optional<Poly> arithmetic(uint32_t at, Integer type);
  std::optional<Poly> product(uint32_t at, Integer type);
  std::optional<Poly> quotient(uint32_t at, Integer type);
  std::optional<Poly> shifted(uint32_t at, Integer type);
  std::optional<Poly> masked(uint32_t at, Integer type);
  std::optional<Poly> bits_kept(const Poly& poly, uint64_t mask);
  std::optional<Poly> converted(uint32_t at);
  std::optional<Poly> selected(uint32_t at, Integer type);
  std::optional<Poly> loaded_param(uint32_t at);
  std::optional<Poly> moved(uint32_t at, Integer type);
  void compare(uint32_t at);
  void combine_predicates(uint32_t at);
  Interval range_of_result(uint32_t at, uint32_t reg) const;

  // loops.cc: what changes from iteration to iteration
  void meet(ValueId meeting);
  void meet_in_loop(ValueId meeting, const Loop& loop);
  Atom counter_of(const Loop& loop);
  bool is_invariant(Atom atom, const Loop& loop) const;
  bool is_invariant(const Poly& poly, const Loop& loop) const;
  void find_loop_facts(const Loop& loop);
  void add_countdown(const Poly& unequal, Atom counter, const Known& entry);
  bool find_forms();
  Form form_of(ValueId meeting, const Loop& loop) const;
  std::optional<Poly> initial(ValueId meeting, const Loop& loop) const;
  std::vector<ValueId> next_values(ValueId meeting, const Loop& loop) const;
  Poly ranged(ValueId meeting, const Loop& loop, const std::optional<Poly>& from);
  std::optional<Known> known_before(const Loop& loop) const;
  void add_duties_of_candidates();

  // accesses.cc
  std::vector<Access> accesses();
  Poly address(uint32_t at, const ptx::Operand& operand);
  Access judge(uint32_t at, const Use& use);
  std::string blame(const Poly& poly) const;

  const ptx::Module& module_;
  const ptx::Function& function_;
  const Flow& flow_;
  LaunchSpace space_;
  Ssa ssa_;
  Prover prover_{space_.atoms};
  std::vector<Value> values_;  // By ValueId.
  std::vector<Known> known_;   // Per block, at its beginning.
  std::map<ValueId, Form> forms_;
  std::vector<Duty> duties_;
  std::vector<Candidate> candidates_;
  std::set<std::string> denied_;           // Assumptions that did not hold.
  bool trusting_ = true;                   // False: nothing is assumed any more.
  std::map<std::string, Atom> named_;      // Atoms by what they are for, the same in every walk.
  std::map<std::string, Poly> variables_;  // Addresses of variables.
};

}  // namespace gpuemu::prove
