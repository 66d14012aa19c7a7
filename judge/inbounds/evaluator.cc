#include "judge/inbounds/evaluator.h"

#include <algorithm>

#include <fmt/core.h>

#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {
namespace {

const Value kNothing;
constexpr int64_t kSafely64 = int64_t{1} << 62;

bool is_predicate(const ptx::Function& function, uint32_t reg) {
  return function.registers[reg].type == ptx::Type::Pred;
}

/// Returns one formula that gives each value if its way was taken. Example: after a loop of r
/// iterations that is skipped for r = 0, a sum has grown by r steps either way.
std::optional<Polynomial> common_formula(const Alternatives& ways,
                                         const std::vector<Polynomial>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Polynomial formula = reduced(values[i], ways[i]);
    bool fits = !formula.is_broken();
    for (size_t j = 0; j < values.size() && fits; ++j) {
      fits = reduced(formula - values[j], ways[j]).is_zero();
    }
    if (fits) return formula;
  }
  return std::nullopt;
}

}  // namespace

Evaluator::Evaluator(const ptx::Module& module, const ptx::Function& function, const Flow& flow,
                     LaunchDomain space)
    : module_(module),
      function_(function),
      flow_(flow),
      space_(std::move(space)),
      ssa_(function, flow) {}

std::vector<Access> Evaluator::run() {
  for (uint32_t round = 0;; ++round) {
    trusting_ = round < kRoundsMax;
    walk();
    // If a form was found or refuted, or an assumption was dropped, conclusions that used it are
    // invalid.
    const bool forms_hold = !find_forms();
    if (forms_hold && settle()) return accesses();
    if (round < 2 * kRoundsMax) continue;
    // From then on, registers that change in loops may hold anything.
    for (auto& [meeting, form] : forms_) form.kind = Form::Kind::Ranged;
    walk();
    return settle() ? accesses() : std::vector<Access>();
  }
}

void Evaluator::walk() {
  values_.assign(ssa_.definitions().size(), {});
  known_.assign(flow_.control.blocks.size(), {});
  duties_.clear();
  candidates_.clear();
  for (const uint32_t block : flow_.order) {
    enter(block);
    const ptx::BasicBlock& range = flow_.control.blocks[block];
    for (uint32_t at = range.begin; at < range.end; ++at) evaluate(at);
  }
  for (const Loop& loop : flow_.loops) find_loop_facts(loop);
  add_duties_of_candidates();
}

void Evaluator::enter(uint32_t block) {
  const int32_t dominator = flow_.dominator[block];
  known_[block] = dominator < 0 ? space_.known : known_[static_cast<size_t>(dominator)];
  const Loop* loop = flow_.loop_at(block);
  std::vector<uint32_t> ways;
  for (const uint32_t from : flow_.before[block]) {
    const bool back = loop != nullptr && loop->contains[from];
    if (!back) ways.push_back(from);
  }
  if (ways.size() == 1 && block != flow_.order[0]) {
    known_[block].add(condition_of_edge(ways[0], block));
  }
  if (loop != nullptr) counter_of(*loop);
  for (const ValueId meeting : ssa_.meetings(block)) meet(meeting);
}

const Value& Evaluator::value_of(ValueId value) const {
  return value < 0 ? kNothing : values_[static_cast<size_t>(value)];
}

Alternatives Evaluator::guard_of(uint32_t at) const {
  const auto& guard = function_.body[at].guard;
  if (!guard) return {};
  const Value& value = value_of(ssa_.read(at, guard->reg));
  return guard->negated ? value.when_false : value.when_true;
}

Known Evaluator::known_at(uint32_t at) const {
  Known known = known_[flow_.control.block_of[at]];
  known.add(guard_of(at));
  return known;
}

Alternatives Evaluator::condition_of_edge(uint32_t from, uint32_t to) const {
  const ptx::BasicBlock& block = flow_.control.blocks[from];
  const uint32_t at = block.end - 1;
  const ptx::Instruction& last = function_.body[at];
  if (!last.guard) return {};
  const Value& value = value_of(ssa_.read(at, last.guard->reg));
  const Alternatives& taken = last.guard->negated ? value.when_false : value.when_true;
  const Alternatives& passed = last.guard->negated ? value.when_true : value.when_false;
  const bool falls_to =
      block.end < function_.body.size() && flow_.control.block_of[block.end] == to;
  if (last.opcode != ptx::Opcode::Bra) {
    const bool leaves = last.has(ptx::Trait::Leaves);
    return leaves && falls_to ? passed : Alternatives();
  }
  const ptx::Operand& target = last.operands[0];
  if (target.kind != ptx::Operand::Kind::Label) return {};
  const uint32_t instruction = function_.labels[target.label].instruction;
  const bool jumps_to =
      instruction < function_.body.size() && flow_.control.block_of[instruction] == to;
  if (jumps_to == falls_to) return {};
  return jumps_to ? taken : passed;
}

Known Evaluator::known_on_edge(uint32_t from, uint32_t to) const {
  Known known = known_[from];
  known.add(condition_of_edge(from, to));
  return known;
}

std::string Evaluator::place(uint32_t at) const {
  const ptx::Instruction& instruction = function_.body[at];
  const ptx::SourceLine line = instruction.source;
  if (line.file == 0 || line.line == 0) return fmt::format("PTX line {}", instruction.where.line);
  return fmt::format("line {}", line.line);
}

Polynomial Evaluator::unknown(const std::string& key, int32_t home, Interval range,
                              const std::string& reason) {
  const auto [place, added] = named_.try_emplace(key, 0);
  if (added) place->second = space_.symbols.add({});
  SymbolInfo info;
  info.name = key.substr(0, key.find('@'));
  info.range = range;
  info.home = home;
  info.reason = reason;
  space_.symbols[place->second] = std::move(info);
  return Polynomial::symbol(place->second);
}

// Returns one of several values, depending on which condition holds.
Polynomial Evaluator::choice(const std::string& key, int32_t home, const Alternatives& ways,
                             const std::vector<Polynomial>& values) {
  if (std::ranges::any_of(values, &Polynomial::is_broken)) return Polynomial::broken();
  if (std::ranges::all_of(values, [&](const Polynomial& one) { return one == values[0]; })) {
    return values[0];
  }
  if (const auto formula = common_formula(ways, values)) return *formula;
  const Polynomial it = unknown(key, home, {}, "");
  SymbolInfo& info = space_.symbols[named_.at(key)];
  Interval range = space_.symbols.interval(values[0]);
  Alternatives cases = ways;
  for (size_t i = 0; i < values.size(); ++i) {
    add_equality(cases[i].facts, it, values[i]);
    const Interval one = space_.symbols.interval(values[i]);
    range = {std::min(range.low, one.low), std::max(range.high, one.high)};
  }
  info.range = range;
  info.cases = {std::move(cases)};
  return it;
}

Polynomial Evaluator::unknown_result(uint32_t at, uint32_t reg, const std::string& reason) {
  const auto home = static_cast<int32_t>(flow_.control.block_of[at]);
  return unknown(fmt::format("{}@{}", function_.registers[reg].name, at), home,
                 range_of_result(at, reg), reason);
}

void Evaluator::assign(uint32_t at, uint32_t reg, Polynomial poly) {
  const ValueId value = ssa_.assigned(at, reg);
  const auto home = static_cast<int32_t>(flow_.control.block_of[at]);
  const auto& guard = function_.body[at].guard;
  if (poly.is_broken()) poly = unknown_result(at, reg, "is too long a formula at " + place(at));
  if (guard) {
    // If the guard does not hold, the register keeps its old value.
    const ValueId old = ssa_.resolved(ssa_.definitions()[static_cast<size_t>(value)].old);
    const Value& condition = value_of(ssa_.read(at, guard->reg));
    const auto one = [](const Alternatives& all) {
      return all.size() == 1 ? all[0] : Assumption();
    };
    Assumption run = one(condition.when_true);
    Assumption kept = one(condition.when_false);
    if (guard->negated) std::swap(run, kept);
    const Polynomial before =
        old < 0 ? unknown_result(at, reg, "is not set before " + place(at)) : value_of(old).poly;
    poly = choice(fmt::format("{}@{}?", function_.registers[reg].name, at), home, {run, kept},
                  {poly, before});
    if (poly.is_broken()) poly = unknown_result(at, reg, "is too long a formula at " + place(at));
  }
  values_[static_cast<size_t>(value)].poly = std::move(poly);
}

void Evaluator::evaluate(uint32_t at) {
  const ptx::Instruction& instruction = function_.body[at];
  const std::vector<uint32_t> results = assigned_registers(instruction);
  if (results.empty()) return;
  if (is_predicate(function_, results[0])) {
    // If the guard of a comparison does not hold, the predicate keeps its value, so nothing is
    // known.
    if (instruction.guard) return;
    if (instruction.opcode == ptx::Opcode::Setp) {
      compare(at);
    } else {
      combine_predicates(at);
    }
    return;
  }
  const std::optional<Polynomial> poly = results.size() == 1 ? compute(at) : std::nullopt;
  for (const uint32_t reg : results) {
    if (is_predicate(function_, reg)) continue;
    std::string reason = "comes from " + instruction.spelling() + " at " + place(at);
    const bool reads =
        instruction.has(ptx::Trait::Reads) || instruction.opcode == ptx::Opcode::Ldmatrix;
    if (reads) reason = "is read from memory at " + place(at);
    if (instruction.opcode == ptx::Opcode::Shfl) {
      reason = "comes from another thread at " + place(at);
    }
    assign(at, reg, poly ? *poly : unknown_result(at, reg, reason));
  }
}

std::optional<Polynomial> Evaluator::exact(uint32_t at, const Polynomial& poly, Integer type,
                                           int slot) {
  if (poly.is_broken()) return std::nullopt;
  Interval range{type.is_signed ? -kSafely64 : 0, kSafely64};
  if (type.bits < 64) {
    const int64_t count = int64_t{1} << type.bits;
    range = type.is_signed ? Interval{-count / 2, count / 2 - 1} : Interval{0, count - 1};
    if (const auto number = poly.constant()) {
      const int64_t low = (*number % count + count) % count;
      return Polynomial(low > range.high ? low - count : low);
    }
  }
  std::vector<Polynomial> goals = {poly - Polynomial(range.low), Polynomial(range.high) - poly};
  // An address plus an offset that stays inside its region. Addresses of shared and local memory
  // have 32 bits.
  for (const Symbol symbol : poly.symbols()) {
    const int32_t index = space_.symbols[symbol].region;
    if (index < 0) continue;
    const Region& region = space_.regions[static_cast<size_t>(index)];
    const bool narrow = region.space == ptx::Space::Shared || region.space == ptx::Space::Local;
    if (type.bits < 64 && !narrow) return std::nullopt;
    const Polynomial offset = poly - Polynomial::symbol(symbol);
    goals = {offset, region.bytes - offset};
  }
  const Known known = known_at(at);
  const bool holds = std::ranges::all_of(
      goals, [&](const Polynomial& goal) { return prover_.holds(goal, known); });
  if (holds) return poly;
  const std::string key =
      fmt::format("{}/{}/{}{}", at, slot, type.is_signed ? "s" : "u", type.bits);
  if (!trusting_ || denied_.contains(key)) return std::nullopt;
  duties_.push_back({key, known, std::move(goals)});
  return poly;
}

bool Evaluator::settle() {
  bool all = true;
  for (const Duty& duty : duties_) {
    const bool holds = std::ranges::all_of(
        duty.goals, [&](const Polynomial& goal) { return prover_.holds(goal, duty.known); });
    if (holds) continue;
    denied_.insert(duty.key);
    all = false;
  }
  return all;
}

}  // namespace gpuemu::inbounds
