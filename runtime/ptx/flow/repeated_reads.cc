#include "runtime/ptx/flow/repeated_reads.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/ptx/flow/operands.h"

namespace gpuemu::ptx {
namespace {

/// Loops that wait are short. Longer ones compute something with what they read.
constexpr size_t kLoopBlocksMax = 16;
/// Counters of a function that are looked at. A kernel that looks for the last block has few.
constexpr size_t kCountersMax = 64;

bool moves_number(const Instruction& in) {
  return in.opcode == Opcode::Mov && in.operands.size() == 2 &&
         in.operands[1].kind == Operand::Kind::Integer;
}
bool is_result(const Instruction& in, uint32_t reg) {
  bool found = false;
  if (in.has_result() && !in.operands.empty()) {
    each_register(in.operands[0], [&](uint32_t each) { found = found || each == reg; });
  }
  for (const Operand& result : in.call_results) {
    each_register(result, [&](uint32_t each) { found = found || each == reg; });
  }
  return found;
}
/// Returns whether the operand is a number, or a register that only gets numbers.
bool is_number(const Function& function, const Operand& operand) {
  if (operand.kind == Operand::Kind::Integer) return true;
  return operand.kind == Operand::Kind::Register &&
         std::ranges::all_of(function.body, [&](const Instruction& in) {
           return !is_result(in, operand.reg) || moves_number(in);
         });
}

bool has_text(const Instruction& in, std::string_view modifier) {
  return std::ranges::find(in.modifiers, modifier) != in.modifiers.end();
}

/// Returns whether it is an atom, or an ld that each time reads what is there then.
bool may_await(const Instruction& in) {
  static constexpr Modifier kAnew[] = {Modifier::Volatile, Modifier::Relaxed, Modifier::Acquire,
                                       Modifier::Mmio,     Modifier::Cv,      Modifier::Cg};
  if (in.operands.size() < 2) return false;
  return in.opcode == Opcode::Atom ||
         (in.opcode == Opcode::Ld &&
          std::ranges::any_of(kAnew, [&](Modifier modifier) { return in.has(modifier); }));
}

/// Returns whether the result, or what additions and moves make of it, is compared for equality
/// with a register. Other comparisons are those of queues; equality with a number is that of the
/// first.
bool tells_the_last(const Function& function, const Instruction& counter) {
  std::set<uint32_t> following;
  each_register(counter.operands[0], [&](uint32_t reg) { following.insert(reg); });
  const auto uses = [&](const Operand& operand) {
    return operand.kind == Operand::Kind::Register && following.contains(operand.reg);
  };
  for (size_t before = 0; before != following.size();) {
    before = following.size();
    for (const Instruction& in : function.body) {
      const bool passes_on = in.opcode == Opcode::Add || in.opcode == Opcode::Sub ||
                             in.opcode == Opcode::Mov || in.opcode == Opcode::Cvt;
      if (!passes_on || in.operands.size() < 2) continue;
      if (std::any_of(in.operands.begin() + 1, in.operands.end(), uses)) {
        each_register(in.operands[0], [&](uint32_t reg) { following.insert(reg); });
      }
    }
  }
  return std::ranges::any_of(function.body, [&](const Instruction& in) {
    const bool compares = in.opcode == Opcode::Setp && in.operands.size() == 3 &&
                          (in.has(Modifier::Eq) || in.has(Modifier::Ne));
    return compares && in.operands[1].kind == Operand::Kind::Register &&
           in.operands[2].kind == Operand::Kind::Register &&
           uses(in.operands[1]) != uses(in.operands[2]);
  });
}

/// Returns the blocks on the ways from `head` to `tail` through blocks behind `head`, which the
/// edge from `tail` back to `head` makes a loop; empty if there is no such way or there are too
/// many. The loop may be entered in the middle.
std::vector<uint32_t> loop_of(uint32_t head, uint32_t tail, const ControlFlow& flow,
                              const std::vector<std::vector<uint32_t>>& predecessors) {
  const auto contains = [](const std::vector<uint32_t>& in, uint32_t block) {
    return std::ranges::find(in, block) != in.end();
  };
  std::vector<uint32_t> reaching = {head};
  if (tail != head) reaching.push_back(tail);
  for (size_t at = 1; at < reaching.size(); ++at) {
    for (const uint32_t before : predecessors[reaching[at]]) {
      if (before < head || contains(reaching, before)) continue;
      reaching.push_back(before);
      if (reaching.size() > kLoopBlocksMax) return {};
    }
  }
  std::vector<uint32_t> found = {head};
  for (size_t at = 0; at < found.size(); ++at) {
    for (const uint32_t next : flow.blocks[found[at]].successors) {
      if (contains(reaching, next) && !contains(found, next)) found.push_back(next);
    }
  }
  return contains(found, tail) ? found : std::vector<uint32_t>{};
}

/// The instructions of one loop.
class Loop {
 public:
  Loop(const Function& function, const ControlFlow& flow, std::vector<uint32_t> blocks)
      : function_(function), flow_(flow), blocks_(std::move(blocks)) {}

  template <typename Visit>
  void each(const Visit& visit) const {
    for (const uint32_t block : blocks_) {
      for (uint32_t i = flow_.blocks[block].begin; i < flow_.blocks[block].end; ++i) visit(i);
    }
  }
  bool contains(uint32_t block) const { return std::ranges::find(blocks_, block) != blocks_.end(); }
  /// Returns whether a block of the loop may be followed by `block`.
  bool leads_to(uint32_t block) const {
    return std::ranges::any_of(blocks_, [&](uint32_t each) {
      return std::ranges::find(flow_.blocks[each].successors, block) !=
             flow_.blocks[each].successors.end();
    });
  }
  bool writes(uint32_t reg) const {
    bool found = false;
    each([&](uint32_t i) { found = found || is_result(function_.body[i], reg); });
    return found;
  }
  /// Returns whether the loop does nothing else. A loop that takes work from a queue or updates a
  /// value by compare-and-swap ends by an atomic too, and waits for nobody; one that walks over
  /// data may look at a bound that others lower.
  bool only_waits() const {
    uint32_t atomics = 0;
    bool works = false;
    each([&](uint32_t i) {
      const Instruction& in = function_.body[i];
      const Opcode opcode = in.opcode;
      if (opcode == Opcode::Atom) ++atomics;
      works = works || opcode == Opcode::St || opcode == Opcode::Red || opcode == Opcode::Call ||
              (opcode == Opcode::Atom && progresses(in)) ||
              (opcode == Opcode::Ld && in.operands.size() == 2 && varies(in.operands[1]));
    });
    return !works && atomics <= 1;
  }
  /// Returns whether rounds of the loop work towards a value that is read after it and that does
  /// not decide how many rounds there are. Such a loop only asks in passing whether it shall stop.
  bool computes() const {
    const std::set<uint32_t> deciding = deciding_registers(), results = results_of_work();
    const auto is_result_of_work = [&](uint32_t reg) {
      return results.contains(reg) && !deciding.contains(reg);
    };
    for (uint32_t block = 0; block < flow_.blocks.size(); ++block) {
      if (contains(block)) continue;
      for (uint32_t i = flow_.blocks[block].begin; i < flow_.blocks[block].end; ++i) {
        const Instruction& in = function_.body[i];
        if (in.opcode != Opcode::Nanosleep && reads_any(in, is_result_of_work)) return true;
      }
    }
    return false;
  }
  /// Returns whether the result of instruction `index` decides if the loop goes on.
  bool ends_by(uint32_t index) const {
    std::set<uint32_t> following;
    each_register(function_.body[index].operands[0], [&](uint32_t reg) { following.insert(reg); });
    for (size_t before = 0; before != following.size();) {
      before = following.size();
      each([&](uint32_t i) { follow(function_.body[i], following); });
    }
    return std::ranges::any_of(blocks_, [&](uint32_t block) {
      const Instruction& last = function_.body[flow_.blocks[block].end - 1];
      return last.guard && following.contains(last.guard->reg) && leaves(block);
    });
  }

 private:
  /// Returns whether `matches` holds for a register that the instruction reads.
  template <typename Matches>
  static bool reads_any(const Instruction& in, const Matches& matches) {
    bool found = in.guard && matches(in.guard->reg);
    const auto look = [&](uint32_t reg) { found = found || matches(reg); };
    for (size_t i = in.has_result() ? 1 : 0; i < in.operands.size(); ++i) {
      each_register(in.operands[i], look);
    }
    for (const Operand& argument : in.call_arguments) each_register(argument, look);
    return found;
  }
  /// Returns the registers on which it depends whether the loop goes on.
  std::set<uint32_t> deciding_registers() const {
    std::set<uint32_t> deciding;
    for (const uint32_t block : blocks_) {
      const Instruction& last = function_.body[flow_.blocks[block].end - 1];
      if (last.guard && leaves(block)) deciding.insert(last.guard->reg);
    }
    for (size_t before = 0; before != deciding.size();) {
      before = deciding.size();
      each([&](uint32_t i) {
        const Instruction& in = function_.body[i];
        const bool makes =
            std::ranges::any_of(deciding, [&](uint32_t reg) { return is_result(in, reg); });
        if (!makes) return;
        reads_any(in, [&](uint32_t reg) { return deciding.insert(reg), false; });
      });
    }
    return deciding;
  }
  /// Returns the registers whose value depends on that of an earlier round. What a round reads at
  /// an address that stays is none of them.
  std::set<uint32_t> growing_registers() const {
    std::set<uint32_t> growing;
    each([&](uint32_t i) { add_results(function_.body[i], growing); });
    for (size_t before = 0; before != growing.size();) {
      before = growing.size();
      std::set<uint32_t> still;
      each([&](uint32_t i) {
        const Instruction& in = function_.body[i];
        if (reads_any(in, [&](uint32_t reg) { return growing.contains(reg); })) {
          add_results(in, still);
        }
      });
      growing = std::move(still);
    }
    return growing;
  }
  /// Returns the growing registers that are more than a count of rounds, or a time that grows by
  /// the round.
  std::set<uint32_t> results_of_work() const {
    const std::set<uint32_t> growing = growing_registers();
    std::set<uint32_t> results;
    for (bool changed = true; changed;) {
      const size_t before = results.size();
      each([&](uint32_t i) {
        const Instruction& in = function_.body[i];
        const bool works = !steps_by_a_number(in) ||
                           reads_any(in, [&](uint32_t reg) { return results.contains(reg); });
        if (works) add_results(in, results);
      });
      std::erase_if(results, [&](uint32_t reg) { return !growing.contains(reg); });
      changed = results.size() != before;
    }
    return results;
  }
  /// Returns whether it moves a register, or changes one by a number.
  bool steps_by_a_number(const Instruction& in) const {
    if (in.guard) return false;
    switch (in.opcode) {
      case Opcode::Mov:
        return true;
      case Opcode::Add:
      case Opcode::Sub:
      case Opcode::Shl:
      case Opcode::Mul:
      case Opcode::Min:
      case Opcode::Max:
        return in.operands.size() == 3 && is_number(function_, in.operands[2]);
      default:
        return false;
    }
  }
  static void add_results(const Instruction& in, std::set<uint32_t>& to) {
    if (!in.has_result() || in.operands.empty()) return;
    each_register(in.operands[0], [&](uint32_t reg) { to.insert(reg); });
  }
  /// Returns whether the atomic may do something else each time: its operands change in the loop,
  /// or it counts.
  bool progresses(const Instruction& atomic) const {
    bool changes = false;
    for (size_t i = 2; i < atomic.operands.size(); ++i) {
      changes = changes || varies(atomic.operands[i]);
    }
    const bool steps =
        has_text(atomic, "add") || has_text(atomic, "inc") || has_text(atomic, "dec");
    return changes || (steps && !(has_text(atomic, "add") && is_zero(atomic.operands.back())));
  }
  /// Returns whether the loop writes a register of the operand, other than by a mov of a number.
  bool varies(const Operand& operand) const {
    bool found = false;
    each_register(operand, [&](uint32_t reg) {
      each([&](uint32_t i) {
        const Instruction& in = function_.body[i];
        found = found || (is_result(in, reg) && !moves_number(in));
      });
    });
    return found;
  }
  /// Returns whether the operand is 0, or a register whose every value is.
  bool is_zero(const Operand& operand) const {
    if (operand.kind == Operand::Kind::Integer) return operand.bits == 0;
    return operand.kind == Operand::Kind::Register &&
           std::ranges::all_of(function_.body, [&](const Instruction& in) {
             return !is_result(in, operand.reg) || (moves_number(in) && in.operands[1].bits == 0);
           });
  }
  static void follow(const Instruction& in, std::set<uint32_t>& following) {
    if (!in.has_result() || in.operands.empty()) return;
    bool uses = false;
    for (size_t i = 1; i < in.operands.size(); ++i) {
      each_register(in.operands[i], [&](uint32_t reg) { uses = uses || following.contains(reg); });
    }
    if (uses) each_register(in.operands[0], [&](uint32_t reg) { following.insert(reg); });
  }
  bool leaves(uint32_t block) const {
    const std::vector<uint32_t>& next = flow_.blocks[block].successors;
    return next.empty() ||
           std::ranges::any_of(next, [&](uint32_t each) { return !contains(each); });
  }

  const Function& function_;
  const ControlFlow& flow_;
  std::vector<uint32_t> blocks_;
};

/// Where an ld, or an atom on one word, accesses memory.
auto place(const Instruction& in) {
  const Operand& base = in.operands[1].elements.at(0);
  return std::tuple(base.kind, base.reg, base.name, in.operands[1].offset + base.offset);
}

/// Marks the loads of a first round that the compiler has moved in front of the loop. They read
/// what the load at `index` does, and end by leaving for where the loop does or by entering it.
void mark_first_round(const Function& function, const ControlFlow& flow, const Loop& loop,
                      uint32_t index, std::vector<bool>& awaited) {
  const Instruction& again = function.body[index];
  if (again.opcode != Opcode::Ld || !has_place(again)) return;
  const auto is_as_before = [&](const Operand& address) {
    size_t writers = 0;
    each_register(address, [&](uint32_t reg) {
      writers += static_cast<size_t>(std::ranges::count_if(
          function.body, [&](const Instruction& in) { return is_result(in, reg); }));
    });
    return writers <= 1;
  };
  if (!is_as_before(again.operands[1])) return;
  const auto enters = [&](uint32_t block) {
    const std::vector<uint32_t>& next = flow.blocks[block].successors;
    return loop.contains(block) || (next.size() == 1 && loop.contains(next[0]));
  };
  const auto is_exit = [&](uint32_t block) {
    return !loop.contains(block) && loop.leads_to(block);
  };
  for (uint32_t block = 0; block < flow.blocks.size(); ++block) {
    const std::vector<uint32_t>& next = flow.blocks[block].successors;
    if (loop.contains(block) || next.size() != 2) continue;
    const bool decides =
        (is_exit(next[0]) && enters(next[1])) || (is_exit(next[1]) && enters(next[0]));
    if (!decides) continue;
    const Loop round(function, flow, {block});
    round.each([&](uint32_t i) {
      const Instruction& in = function.body[i];
      const bool is_same = in.opcode == Opcode::Ld && has_place(in) && place(in) == place(again) &&
                           in.spelling() == again.spelling();
      if (is_same && round.ends_by(i)) awaited[i] = true;
    });
  }
}

void mark_awaited(const Function& function, const ControlFlow& flow, const Loop& loop,
                  std::vector<bool>& awaited) {
  if (!loop.only_waits()) return;
  loop.each([&](uint32_t i) {
    const Instruction& in = function.body[i];
    if (awaited[i] || !may_await(in)) return;
    bool moves = false;
    each_register(in.operands[1], [&](uint32_t reg) { moves = moves || loop.writes(reg); });
    awaited[i] = !moves && loop.ends_by(i) && !loop.computes();
    if (awaited[i]) mark_first_round(function, flow, loop, i, awaited);
  });
}

}  // namespace

std::vector<bool> awaited_reads(const Function& function, const ControlFlow& flow) {
  std::vector<bool> awaited(function.body.size());
  if (std::ranges::none_of(function.body, may_await)) return awaited;
  size_t counters = 0;
  for (size_t i = 0; i < awaited.size() && counters < kCountersMax; ++i) {
    const Instruction& in = function.body[i];
    const bool counts = in.opcode == Opcode::Atom && in.operands.size() == 3 &&
                        (has_text(in, "add") || has_text(in, "inc"));
    if (!counts) continue;
    awaited[i] = tells_the_last(function, in);
    ++counters;
  }
  std::vector<std::vector<uint32_t>> predecessors(flow.blocks.size());
  for (uint32_t block = 0; block < flow.blocks.size(); ++block) {
    for (const uint32_t next : flow.blocks[block].successors) predecessors[next].push_back(block);
  }
  for (uint32_t head = 0; head < flow.blocks.size(); ++head) {
    for (const uint32_t tail : predecessors[head]) {
      if (tail < head) continue;
      const std::vector<uint32_t> blocks = loop_of(head, tail, flow, predecessors);
      if (!blocks.empty()) mark_awaited(function, flow, Loop(function, flow, blocks), awaited);
    }
  }
  return awaited;
}

}  // namespace gpuemu::ptx
