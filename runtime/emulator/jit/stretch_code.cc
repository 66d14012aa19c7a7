#include "runtime/emulator/jit/stretch_code.h"

#include <memory>
#include <string_view>

#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
/// Calling machine code costs about as much as so many steps by handlers.
constexpr uint32_t kStepsMin = 3;
/// Beyond them a function is not worth the time and memory of compiling it.
constexpr size_t kStepsMax = 40'000;
/// More than any step takes, and what else stands in a function's code. Pages that are not written
/// take no memory.
constexpr size_t kBytesPerStep = 2048, kBytesBeside = 1 << 16;

/// Stretches that lie inside of longer ones are entered by handlers only.
std::vector<StepRange> stretches_of(const Code& code, const Operations& known) {
  std::vector<StepRange> all;
  for (uint32_t step = 0; step < code.ins.size();) {
    const uint32_t length = code.ins[step].stretch;
    if (length == 0) {
      ++step;
      continue;
    }
    uint32_t compiled = 0;
    for (uint32_t i = step; i < step + length; ++i)
      if (known.find(code.ins[i].run) != nullptr) ++compiled;
    if (compiled >= kStepsMin) all.push_back({step, step + length});
    step += length;
  }
  return all;
}

/// Handlers of the table look at their operands only.
bool may_end(const Ins& ins) {
  static const std::unordered_map<Handler, bool> kPure = [] {
    std::unordered_map<Handler, bool> all;
    for (const auto& [key, row] : handlers()) {
      if (key.starts_with("ld.") || key.starts_with("st.")) continue;
      all[row.run] = true;
      if (row.rounded != nullptr) all[row.rounded] = true;
    }
    return all;
  }();
  return !kPure.contains(ins.run);
}

size_t write_stretch(Emitter& e, StepRange stretch, const Operations& known) {
  const size_t at = e.begin(stretch);
  for (uint32_t step = stretch.begin; step < stretch.end; ++step) {
    const Ins& ins = e.code().ins[step];
    e.begin_step(step);
    if (const Emit* emit = known.find(ins.run); emit != nullptr)
      (*emit)(e, ins);
    else if (ins.run != steps::nothing)
      e.call(ins, may_end(ins));
    e.end_step();
  }
  e.end();
  return at;
}

}  // namespace

bool runs_compiled_stretches() { return std::string_view(handlers_name()) == "AVX-512"; }

void compile_stretches(Code& code, Accesses accesses) {
  CompiledCode& compiled = code.compiled[static_cast<size_t>(accesses)];
  compiled.tried = true;
  const Operations& known = operations(accesses);
  const std::vector<StepRange> stretches = stretches_of(code, known);
  if (stretches.empty() || code.ins.size() > kStepsMax) return;
  try {
    auto emitter = std::make_shared<Emitter>(code, code.ins.size() * kBytesPerStep + kBytesBeside);
    std::vector<std::pair<uint32_t, size_t>> begins;
    for (const StepRange& stretch : stretches)
      begins.emplace_back(stretch.begin, write_stretch(*emitter, stretch, known));
    emitter->finish();
    emitter->setProtectModeRE();
    compiled.at.assign(code.ins.size(), nullptr);
    for (const auto& [step, at] : begins)
      compiled.at[step] = reinterpret_cast<CompiledStretch>(emitter->getCode() + at);
    compiled.memory = std::move(emitter);
  } catch (const Xbyak::Error&) {
    // No memory that may be executed, or none at all: the handlers do the same.
    compiled = {.tried = true};
  }
}

}  // namespace gpuemu::emulator
