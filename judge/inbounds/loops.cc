// Finds how registers change between loop iterations, and what bounds the iterations.
#include <algorithm>

#include <fmt/core.h>

#include "judge/inbounds/evaluator.h"

namespace gpuemu::inbounds {

Symbol Evaluator::counter_of(const Loop& loop) {
  const std::string key = fmt::format("iteration@{}", loop.header);
  if (const auto found = named_.find(key); found != named_.end()) {
    // Conclusions of an earlier walk are invalid.
    space_.symbols[found->second].facts.clear();
    space_.symbols[found->second].cases.clear();
    return found->second;
  }
  unknown(key, static_cast<int32_t>(loop.header), {0, Interval::kNone}, "");
  return named_.at(key);
}

bool Evaluator::is_invariant(Symbol symbol, const Loop& loop) const {
  const SymbolInfo& info = space_.symbols[symbol];
  if (info.home >= 0 && loop.contains[static_cast<size_t>(info.home)]) return false;
  return std::ranges::all_of(info.parts, [&](Symbol part) { return is_invariant(part, loop); });
}

bool Evaluator::is_invariant(const Polynomial& poly, const Loop& loop) const {
  return !poly.is_broken() && std::ranges::all_of(poly.symbols(), [&](Symbol symbol) {
    return is_invariant(symbol, loop);
  });
}

std::optional<Polynomial> Evaluator::initial(ValueId meeting, const Loop& loop) const {
  const Definition& definition = ssa_.definitions()[static_cast<size_t>(meeting)];
  const std::vector<uint32_t>& before = flow_.before[loop.header];
  std::optional<Polynomial> only;
  for (size_t i = 0; i < definition.incoming.size(); ++i) {
    if (i < before.size() && loop.contains[before[i]]) continue;
    const Polynomial poly = value_of(ssa_.resolved(definition.incoming[i])).poly;
    if (poly.is_broken() || (only && !(*only == poly))) return std::nullopt;
    only = poly;
  }
  return only;
}

std::vector<ValueId> Evaluator::next_values(ValueId meeting, const Loop& loop) const {
  const Definition& definition = ssa_.definitions()[static_cast<size_t>(meeting)];
  const std::vector<uint32_t>& before = flow_.before[loop.header];
  std::vector<ValueId> next;
  for (size_t i = 0; i < before.size() && i < definition.incoming.size(); ++i) {
    if (loop.contains[before[i]]) next.push_back(ssa_.resolved(definition.incoming[i]));
  }
  return next;
}

std::optional<Known> Evaluator::known_before(const Loop& loop) const {
  std::optional<Known> known;
  for (const uint32_t from : flow_.before[loop.header]) {
    if (loop.contains[from]) continue;
    if (known) return known_[static_cast<size_t>(flow_.dominator[loop.header])];
    known = known_on_edge(from, loop.header);
  }
  return known;
}

void Evaluator::meet(ValueId meeting) {
  const Definition& definition = ssa_.definitions()[static_cast<size_t>(meeting)];
  const ptx::Register& reg = function_.registers[definition.reg];
  if (reg.type == ptx::Type::Pred) return;
  if (const Loop* loop = flow_.loop_at(definition.block)) return meet_in_loop(meeting, *loop);
  Alternatives ways;
  std::vector<Polynomial> values;
  const std::vector<uint32_t>& before = flow_.before[definition.block];
  const auto dominator = static_cast<size_t>(std::max(flow_.dominator[definition.block], 0));
  const size_t shared_facts = known_[dominator].facts.size();
  const size_t shared_unequal = known_[dominator].unequal.size();
  for (size_t i = 0; i < definition.incoming.size() && i < before.size(); ++i) {
    // What holds on this incoming edge but not on all of them.
    const Known known = known_on_edge(before[i], definition.block);
    Assumption way;
    way.facts.assign(known.facts.begin() + static_cast<ptrdiff_t>(shared_facts), known.facts.end());
    way.unequal.assign(known.unequal.begin() + static_cast<ptrdiff_t>(shared_unequal),
                       known.unequal.end());
    ways.push_back(std::move(way));
    values.push_back(value_of(ssa_.resolved(definition.incoming[i])).poly);
  }
  const std::string key = fmt::format("{}@m{}", reg.name, definition.block);
  const auto home = static_cast<int32_t>(definition.block);
  Polynomial result = values.size() == definition.incoming.size() && !values.empty()
                          ? choice(key, home, ways, values)
                          : Polynomial::broken();
  if (result.is_broken()) result = unknown(key, home, {}, "has several values that meet");
  values_[static_cast<size_t>(meeting)].poly = result;
}

void Evaluator::meet_in_loop(ValueId meeting, const Loop& loop) {
  const Definition& definition = ssa_.definitions()[static_cast<size_t>(meeting)];
  const ptx::Register& reg = function_.registers[definition.reg];
  const std::string key = fmt::format("{}@l{}", reg.name, loop.header);
  const auto home = static_cast<int32_t>(loop.header);
  const std::optional<Polynomial> from = initial(meeting, loop);
  const Form& form = forms_[meeting];
  Polynomial& poly = values_[static_cast<size_t>(meeting)].poly;
  switch (form.kind) {
    case Form::Kind::Steady:
      poly = from ? *from + form.step * Polynomial::symbol(counter_of(loop)) : Polynomial::broken();
      break;
    case Form::Kind::Undecided:
      break;
    case Form::Kind::Ranged:
      poly = ranged(meeting, loop, from);
      return;
  }
  if (poly.is_broken()) {
    poly = unknown(key, home, {}, "changes in a loop by what is not understood");
  }
}

// Returns an unknown number, unless it provably stays on one side of its start: halved, doubled,
// counted down.
Polynomial Evaluator::ranged(ValueId meeting, const Loop& loop,
                             const std::optional<Polynomial>& from) {
  const Definition& definition = ssa_.definitions()[static_cast<size_t>(meeting)];
  const ptx::Register& reg = function_.registers[definition.reg];
  const std::string key = fmt::format("{}@l{}", reg.name, loop.header);
  const uint32_t bits = ptx::byte_size(reg.type) * 8;
  const bool whole =
      bits <= 32 && bits > 0 && reg.type != ptx::Type::F32 && reg.type != ptx::Type::F16;
  const int64_t most = whole ? (int64_t{1} << bits) - 1 : Interval::kNone;
  const Polynomial it =
      unknown(key, static_cast<int32_t>(loop.header), whole ? Interval{0, most} : Interval{},
              "changes in a loop by more than a fixed step");
  const auto before = known_before(loop);
  const bool has_address = from && std::ranges::any_of(from->symbols(), [&](Symbol symbol) {
                             return space_.symbols[symbol].region >= 0;
                           });
  if (!whole || !from || !before || has_address || !trusting_) return it;
  if (!prover_.holds_between(*from, {0, most}, *before)) return it;
  // Candidates that hold at first; whether they stay true is checked after the loop has been
  // walked.
  std::vector<std::pair<std::string, Polynomial>> candidates = {{key + "/least", it - *from},
                                                                {key + "/most", *from - it}};
  if (prover_.holds(Polynomial(most / 2) - *from, *before)) {
    candidates.emplace_back(key + "/positive", Polynomial(most / 2) - it);
  }
  for (const auto& [name, fact] : candidates) {
    if (denied_.contains(name)) continue;
    const Symbol symbol = named_.at(key);
    space_.symbols[symbol].facts.push_back(fact);
    candidates_.push_back({name, meeting, &loop, symbol, fact, most});
  }
  return it;
}

// The value at the start of the next iteration must satisfy it again, on every back edge.
void Evaluator::add_duties_of_candidates() {
  for (const Candidate& one : candidates_) {
    const std::vector<ValueId> next = next_values(one.meeting, *one.loop);
    for (size_t i = 0; i < next.size() && i < one.loop->latches.size(); ++i) {
      const Polynomial& poly = value_of(next[i]).poly;
      duties_.push_back({one.key,
                         known_on_edge(one.loop->latches[i], one.loop->header),
                         {poly, Polynomial(one.most) - poly, one.fact.replaced(one.symbol, poly)}});
    }
  }
}

Evaluator::Form Evaluator::form_of(ValueId meeting, const Loop& loop) const {
  const Polynomial& now = value_of(meeting).poly;
  Form form{Form::Kind::Ranged, {}};
  const std::vector<ValueId> next = next_values(meeting, loop);
  if (next.empty() || now.is_broken()) return form;
  for (size_t i = 0; i < next.size(); ++i) {
    const Polynomial step = value_of(next[i]).poly - now;
    if (step.is_broken() || !is_invariant(step, loop)) return form;
    if (i > 0 && !(step == form.step)) return form;
    form.step = step;
  }
  form.kind = Form::Kind::Steady;
  return form;
}

// Returns true if a form was found or refuted.
bool Evaluator::find_forms() {
  bool changed = false;
  for (const Loop& loop : flow_.loops) {
    for (const ValueId meeting : ssa_.meetings(loop.header)) {
      Form& form = forms_[meeting];
      if (form.kind == Form::Kind::Ranged) continue;
      const Form found = form_of(meeting, loop);
      const bool same = found.kind == form.kind && found.step == form.step;
      if (same) continue;
      // A step is believed once; if it turns out otherwise, the register changes in another way.
      if (form.kind == Form::Kind::Steady) {
        form.kind = Form::Kind::Ranged;
      } else {
        form = found;
      }
      changed = true;
    }
  }
  return changed;
}

// A loop repeats if its last condition held; in iteration k this gives a fact about k - 1.
void Evaluator::find_loop_facts(const Loop& loop) {
  const Symbol counter = counter_of(loop);
  const auto entry = known_before(loop);
  if (loop.latches.size() != 1 || !entry) return;
  const Known latch = known_on_edge(loop.latches[0], loop.header);
  const Polynomial previous = Polynomial::symbol(counter) - Polynomial(1);
  const auto usable = [&](const Polynomial& fact) {
    if (fact.is_broken() || !fact.has(counter)) return false;
    return std::ranges::all_of(fact.symbols(), [&](Symbol symbol) {
      return symbol == counter || is_invariant(symbol, loop);
    });
  };
  Assumption again{{previous}, {}};
  std::vector<Polynomial> facts;
  for (const Polynomial& fact : latch.facts) {
    if (!usable(fact)) continue;
    facts.push_back(fact.replaced(counter, previous));
    const Polynomial before = facts.back();
    for (const Symbols::Rounded& more : space_.symbols.rounded(before)) {
      const bool sound = usable(more.fact) && is_invariant(more.numerator, loop) &&
                         prover_.holds(more.numerator, *entry) &&
                         prover_.holds(more.divisor - Polynomial(1), *entry);
      if (sound) facts.push_back(more.fact);
    }
  }
  for (const Polynomial& now : facts) {
    if (prover_.holds(now.replaced(counter, Polynomial()), *entry)) {
      space_.symbols[counter].facts.push_back(now);
    } else {
      again.facts.push_back(now);
    }
  }
  for (const Polynomial& unequal : latch.unequal) {
    if (usable(unequal)) add_countdown(unequal.replaced(counter, previous), counter, *entry);
  }
  const Assumption first{{Polynomial(-1) * Polynomial::symbol(counter)}, {}};
  space_.symbols[counter].cases = {{first, again}};
}

// A value that changes by one in every iteration and is never 0 keeps its sign.
void Evaluator::add_countdown(const Polynomial& unequal, Symbol counter, const Known& entry) {
  const auto parts = unequal.linear_in(counter);
  const auto step = parts ? parts->factor.constant() : std::nullopt;
  if (!step || *step == 0 || *step == INT64_MIN) return;
  const auto [whole, rest] = unequal.split_by(std::abs(*step));
  if (!rest.is_zero()) return;
  const Polynomial at_first = whole.replaced(counter, Polynomial());
  if (*step < 0 && prover_.holds(at_first - Polynomial(1), entry)) {
    space_.symbols[counter].facts.push_back(whole - Polynomial(1));
  } else if (*step > 0 && prover_.holds(Polynomial(-1) - at_first, entry)) {
    space_.symbols[counter].facts.push_back(Polynomial(-1) - whole);
  }
}

}  // namespace gpuemu::inbounds
