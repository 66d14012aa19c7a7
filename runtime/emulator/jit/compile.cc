#include "runtime/emulator/jit/compile.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "common/base/check.h"
#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/jit/race_notes.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
/// A longer function is not worth the time and memory of compiling it.
constexpr size_t kStepsMax = 40'000;
/// Upper limits for the code of one step and for the rest of a function's code. Pages that are not
/// written take no memory.
constexpr size_t kBytesPerStep = 4096, kBytesBeside = 1 << 16;
/// Entering compiled code costs about as much as this many steps by handlers.
constexpr uint32_t kStepsWorthEntering = 2;

/// Consecutive steps, followed by a branch if there is one.
struct Piece {
  StepRange steps;
  bool guarded = false;   ///< A single step, executed by all lanes or none.
  uint32_t jump = kNone;  ///< Target of a direct branch.
  uint32_t counted = 0;   ///< Steps that count as PTX instructions.
};

struct KnownHandler {
  bool accesses = false;   ///< Accesses memory, so it may find something that only handlers can
                           ///< continue.
  bool is_global = false;  ///< Accesses global memory, by its own or by generic addresses.
};
const std::unordered_map<Handler, KnownHandler>& table_handlers() {
  static const std::unordered_map<Handler, KnownHandler> kAll = [] {
    std::unordered_map<Handler, KnownHandler> all;
    for (const auto& [key, row] : handlers()) {
      const std::string_view space = std::string_view(key).substr(std::min<size_t>(3, key.size()));
      const bool accesses = key.starts_with("ld.") || key.starts_with("st.");
      const bool global = space.starts_with("global.") || space.starts_with("generic.");
      all[row.run] = {.accesses = accesses, .is_global = accesses && global};
      if (row.rounded != nullptr) all[row.rounded] = {};
    }
    return all;
  }();
  return kAll;
}

bool may_end(const Step& step) {
  const auto found = table_handlers().find(step.run);
  return found == table_handlers().end() || found->second.accesses;
}

/// Returns which steps are branch targets.
std::vector<bool> targets_of(const Code& code) {
  std::vector<bool> targets(code.steps.size() + 1, false);
  for (const Step& step : code.steps) {
    if (const BranchOperands* to = step.direct_branch()) targets[to->target] = true;
  }
  return targets;
}

/// Extends a piece beyond its first straight line or shuffle, while shuffles of the whole warp
/// follow.
void extend(Piece& piece, const Code& code, const std::vector<bool>& targets) {
  const auto goes_on = [&](uint32_t index) { return index < code.steps.size() && !targets[index]; };
  while (goes_on(piece.steps.end) && is_whole_shuffle(code, code.steps[piece.steps.end])) {
    piece.counted += code.steps[piece.steps.end++].counted;
    if (!goes_on(piece.steps.end)) return;
    const Step& behind = code.steps[piece.steps.end];
    piece.counted += behind.straight_line.instructions;
    piece.steps.end += behind.straight_line.steps;
  }
}

/// Splits the code into pieces. Branches only lead to the beginning of a piece, because straight
/// lines end at branch targets.
std::vector<Piece> pieces_of(const Code& code, Accesses accesses) {
  const std::vector<bool> targets = targets_of(code);
  std::vector<Piece> all;
  for (uint32_t index = 0; index < code.steps.size(); ++index) {
    const Step& step = code.steps[index];
    Piece piece{.steps = {index, index + step.straight_line.steps},
                .counted = step.straight_line.instructions};
    if (is_whole_shuffle(code, step)) {
      piece.counted = step.counted;
      piece.steps.end = index + 1;
    }
    // If undefined values are tracked, a shuffle must see those found before it, so it begins a
    // piece of its own.
    const bool joins = (accesses & kInit) == 0 && piece.steps.end != index;
    if (joins) extend(piece, code, targets);
    if (piece.steps.begin == piece.steps.end && step.direct_branch() == nullptr) {
      if (!table_handlers().contains(step.run)) continue;
      piece.guarded = true;
      piece.counted = step.counted;
      piece.steps.end = index + 1;
    } else if (piece.steps.end < code.steps.size() &&
               code.steps[piece.steps.end].direct_branch() != nullptr) {
      piece.jump = piece.steps.end;
    }
    all.push_back(piece);
    index = std::max(piece.steps.end, piece.jump == kNone ? 0 : piece.jump + 1) - 1;
  }
  return all;
}

class PieceWriter {
 public:
  PieceWriter(Emitter& e, const Operations& known, Accesses accesses)
      : e_(e), known_(known), accesses_(accesses) {}

  void write(const Piece& piece) {
    e_.align(16);
    e_.L(e_.piece(piece.steps.begin));
    e_.begin(piece.steps);
    if (piece.guarded) {
      look_at_slice(piece.steps.begin);
      split_by_guard(piece.steps.begin, piece.steps.begin + 1);
    }
    if (piece.steps.begin != piece.steps.end) write_steps(piece);
    if (piece.jump == kNone) {
      e_.go_on(piece.steps.end, piece.steps.end - 1);
    } else {
      write_jump(piece.jump);
    }
    e_.end();
  }

 private:
  static constexpr int kRemaining = offsetof(WarpProgress, remaining),
                       kExecuted = offsetof(WarpProgress, executed);

  Xbyak::Address of_progress(int offset) { return e_.qword[e_.progress + offset]; }

  void look_at_slice(uint32_t index) {
    e_.cmp(of_progress(kRemaining), 0);
    e_.jz(e_.out_at(index, index == 0 ? 0 : index - 1), Xbyak::CodeGenerator::T_NEAR);
  }
  void count(uint32_t instructions) {
    if (instructions != 0) e_.add(of_progress(kExecuted), kLanes * instructions);
  }

  /// Emits code that continues if all lanes pass the guard, and jumps to `otherwise` if none does.
  void split_by_guard(uint32_t index, uint32_t otherwise) {
    const Step& step = e_.code().steps[index];
    if (step.guard.is_always()) return;
    auto all = std::make_shared<Xbyak::Label>();
    e_.mov(e_.eax, e_.dword[e_.registers + static_cast<int>(step.guard.predicate)]);
    if (step.guard.flip != 0) e_.not_(e_.eax);
    e_.cmp(e_.eax, -1);
    e_.je(*all);
    e_.test(e_.eax, e_.eax);
    e_.jnz(e_.out_at(index, index == 0 ? 0 : index - 1), Xbyak::CodeGenerator::T_NEAR);
    e_.dec(of_progress(kRemaining));
    e_.go_on(otherwise, index);
    e_.L(*all);
  }

  void write_steps(const Piece& piece) {
    const auto [begin, end] = piece.steps;
    if (!piece.guarded) look_at_slice(begin);
    e_.mov(e_.rax, of_progress(kRemaining));
    e_.xor_(e_.ecx, e_.ecx);
    e_.sub(e_.rax, end - begin);
    e_.cmovb(e_.rax, e_.rcx);
    e_.mov(of_progress(kRemaining), e_.rax);
    count(piece.counted);
    if (notes_rows(piece.steps)) prepare_rows(e_);
    for (uint32_t index = begin; index < end; ++index) {
      if (const uint32_t until = lane_by_lane_until(index, end); until != index) {
        write_passes({index, until});
        index = until - 1;
      } else {
        write_step(index);
      }
    }
    e_.end_steps();
  }

  /// Whether the first access to global memory begins a segment. A poll does not: a segment that
  /// began before it would count as ordered by it.
  bool notes_rows(StepRange steps) const {
    if ((accesses_ & kGlobalRaces) == 0) return false;
    for (uint32_t index = steps.begin; index < steps.end; ++index) {
      const Step& step = e_.code().steps[index];
      const auto found = table_handlers().find(step.run);
      const bool is_global = found != table_handlers().end() && found->second.is_global;
      if (is_global) return !step.access().is_ordered;
    }
    return false;
  }

  void write_passes(StepRange steps) {
    for (uint32_t pass = 0; pass < Emitter::kPasses; ++pass) {
      e_.begin_pass(pass);
      for (uint32_t index = steps.begin; index < steps.end; ++index) write_step(index);
      e_.end_pass(steps.end);
    }
  }

  /// Returns the end of the steps from `index` on that are done in passes. With AVX-512 one pass
  /// does all steps, so that there are none.
  uint32_t lane_by_lane_until(uint32_t index, uint32_t end) const {
    for (; index < end && !e_.is_avx512(); ++index) {
      const Step& step = e_.code().steps[index];
      const Operation* operation = known_.find(e_.code(), step);
      const bool does = operation != nullptr && operation->is_lane_by_lane;
      if (!does && step.run != steps::nothing) break;
    }
    return index;
  }

  void write_step(uint32_t index) {
    const Step& step = e_.code().steps[index];
    e_.begin_step(index);
    if (const Operation* operation = known_.find(e_.code(), step); operation != nullptr) {
      operation->emit(e_, step);
    } else if (step.run != steps::nothing) {
      e_.call(step, may_end(step));
    }
    e_.end_step();
  }

  void write_jump(uint32_t index) {
    const Step& step = e_.code().steps[index];
    look_at_slice(index);
    split_by_guard(index, index + 1);
    e_.dec(of_progress(kRemaining));
    count(step.counted);
    e_.go_on(step.direct_branch()->target, index);
  }

  Emitter& e_;
  const Operations& known_;
  const Accesses accesses_;
};

bool worth_entering(const Piece& piece, const Code& code, const Operations& known) {
  uint32_t compiled = piece.jump == kNone ? 0 : 1;
  for (uint32_t index = piece.steps.begin; index < piece.steps.end; ++index) {
    if (known.find(code, code.steps[index]) != nullptr) ++compiled;
  }
  return compiled >= kStepsWorthEntering;
}
}  // namespace

std::optional<Target> target_of_compiled_code() {
  const std::string_view name = handlers_name();
  if (name == "AVX-512") return Target::Avx512;
  if (name == "AVX2") return Target::Avx2;
  return std::nullopt;
}
bool runs_compiled_code() { return target_of_compiled_code().has_value(); }

void compile_code(Code& code, Accesses accesses) {
  if (const auto target = target_of_compiled_code()) compile_code(code, accesses, *target);
}

void compile_code(Code& code, Accesses accesses, Target target) {
  CompiledCode& compiled = code.compiled[accesses];
  compiled.tried = true;
  const Operations& known = operations(target, accesses);
  const std::vector<Piece> pieces = pieces_of(code, accesses);
  if (code.steps.size() > kStepsMax) return;
  try {
    auto emitter =
        std::make_shared<Emitter>(code, target, code.steps.size() * kBytesPerStep + kBytesBeside);
    for (const Piece& piece : pieces) emitter->piece(piece.steps.begin);
    for (const Piece& piece : pieces) PieceWriter(*emitter, known, accesses).write(piece);
    std::vector<std::pair<uint32_t, size_t>> entries;
    for (const Piece& piece : pieces) {
      if (worth_entering(piece, code, known)) {
        entries.emplace_back(piece.steps.begin, emitter->entry(piece.steps.begin));
      }
    }
    emitter->finish();
    GPUEMU_CHECK(!emitter->hasUndefinedLabel());
    emitter->setProtectModeRE();
    if (entries.empty()) return;
    compiled.at.assign(code.steps.size(), nullptr);
    for (const auto& [index, at] : entries) {
      compiled.at[index] =
          reinterpret_cast<JitFunction>(reinterpret_cast<uintptr_t>(emitter->getCode()) + at);
    }
    compiled.memory = std::move(emitter);
  } catch (const Xbyak::Error&) {
    // No memory, or none that may be executed: the handlers run instead.
    compiled = {.tried = true};
  }
}

}  // namespace gpuemu::emulator
