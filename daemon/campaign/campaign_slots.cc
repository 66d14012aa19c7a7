// How a campaign runs cases on slots: one at a time, or small ones together.
#include <algorithm>
#include <chrono>

#include "common/config/kernel_config.h"
#include "daemon/campaign/campaign.h"
#include "daemon/case/case_request.h"
#include "daemon/comparison/fused_products.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/pipeline/case_run.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/extra_slots.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "runtime/device/contraction.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// Device memory of a case that is small: handing it over costs as much as the rest of it.
constexpr uint64_t kSmallBytes = uint64_t{512} << 10;
/// Cases that wait together pay for waking up and for cold caches once, but what they need drives
/// each other's out of the caches: from so many on, those that need so much device memory together
/// are enough.
constexpr size_t kBatchCases = 8;
constexpr uint64_t kBatchBytes = uint64_t{768} << 10;

}  // namespace

std::function<Result<SlotLease>()> Campaign::unfused_slot(const LaneClaim& claim,
                                                          Slot& slot) const {
  if (side_ == nullptr) return {};
  const bool on_emulator = device_traits(side_->own_backend()).follows_rounding;
  if (on_emulator && !may_be_fused(config_, on_emulator)) return {};
  return [this, &claim, &slot]() -> Result<SlotLease> {
    slot.worker.settle();  // Others may need its worker while this one waits.
    SlotPool* pool = GPUEMU_TRY(side_->get({.backend = std::string(kEmulatorBackend),
                                            .contraction = std::string(name_of(Contraction::Never)),
                                            .within_case = true}));
    return pool->acquire(claim);
  };
}

/// A case on a place of a slot.
struct Campaign::OnSlot {
  std::shared_ptr<const PreparedKernel> prepared;
  CasePlan plan;
  std::optional<CaseRequest> request;
  std::optional<CaseRun> run;
  std::optional<MeasuredChoice> choice;
  Slot& slot;

  explicit OnSlot(Slot& place) : slot(place) {}
  OnSlot(const OnSlot&) = delete;
  OnSlot& operator=(const OnSlot&) = delete;
  ~OnSlot() {
    run.reset();  // What it has begun ends before the slot forgets the flag.
    slot.worker.stop_when(nullptr);
  }

  Result<CaseReport> finish() {
    auto report = run->finish();
    if (report) report->choice = std::move(choice);
    return report;
  }
};

Result<std::unique_ptr<Campaign::OnSlot>> Campaign::put_on_slot(const Wanted& one, Slot& slot,
                                                                const LaneClaim& claim) {
  auto made = std::make_unique<OnSlot>(slot);
  // An interrupted command must not wait for the time limit of a kernel.
  slot.worker.stop_when(kernels_.cancel());
  VariantChoice::Chosen choice = GPUEMU_TRY(variants_.choose(*one.op, *one.plan, slot));
  const KernelConfig* kernel = choice.kernel;
  if (kernel == nullptr) {
    return error(ErrorCode::Unsupported, "no kernel of '{}' supports this case", one.op->name);
  }
  made->choice = std::move(choice.measured);
  made->prepared = GPUEMU_TRY(kernels_.prepare(*kernel, one.plan->dtype));
  made->plan = *one.plan;
  made->plan.kernel = kernel->name;
  const KernelFinder find_kernel = [this](const OpConfig& other,
                                          const CasePlan& wanted) -> Result<ChosenKernel> {
    ChosenKernel chosen{GPUEMU_TRY(variants_.first(other, wanted)), nullptr};
    if (chosen.kernel == nullptr) {
      return error(ErrorCode::Unsupported, "no kernel of '{}' supports this case", other.name);
    }
    chosen.prepared = GPUEMU_TRY(kernels_.prepare(*chosen.kernel, wanted.dtype));
    return chosen;
  };
  made->request.emplace(CaseRequest{config_, *one.op, *kernel, *made->prepared, made->plan,
                                    *one.settings, find_kernel});
  made->request->emulator_slot = unfused_slot(claim, slot);
  made->run.emplace(*made->request, slot);
  return made;
}

Result<CaseReport> Campaign::run_on_slot(const OpConfig& op, const CasePlan& plan, Slot& slot,
                                         const CaseSettings& settings, const LaneClaim& claim) {
  return GPUEMU_TRY(put_on_slot({&op, &plan, &settings}, slot, claim))->finish();
}

/// Returns the device memory that the session counts for the case; 0 for a plan that cannot be
/// built, because the case itself reports why.
uint64_t Campaign::device_bytes(const OpConfig& op, const CasePlan& plan) const {
  const auto variants = variants_.candidates(op, plan);
  if (!variants) return 0;
  uint64_t most = 0;
  for (const KernelConfig* kernel : *variants) {
    if (const auto bytes = device_bytes_of(*kernel, op, plan)) most = std::max(most, *bytes);
  }
  return most;
}

Result<CaseReport> Campaign::run_one(const OpConfig& op, const CasePlan& plan,
                                     const CaseSettings& settings, const LaneClaim& claim,
                                     HeldLane* lane) {
  HeldLane none;
  HeldLane& held = lane == nullptr ? none : *lane;
  const uint64_t bytes = device_bytes(op, plan);
  // A case that waits for memory, or for all other cases, holds no lane meanwhile.
  const bool may_wait = claim != nullptr && claim->session().memory_limit() != 0;
  if (may_wait || is_large(plan)) held.release();
  const auto memory = GPUEMU_TRY(MemoryHold::take(claim, bytes));
  if (is_large(plan)) return run_large(op, plan, settings, claim);
  auto lease = slots_.acquire(claim, nullptr, std::move(held));
  if (!lease) return lease.error();
  lease->count_memory(bytes);
  large_.begin(plan);
  auto outcome = run_on_slot(op, plan, **lease, settings, claim);
  large_.end(plan, outcome ? std::optional(outcome->result.duration_ms) : std::nullopt);
  if (lane != nullptr) *lane = lease->end_case();
  return outcome;
}

bool Campaign::may_run_together(Wanted& one, const LaneClaim& claim) const {
  if (slots_.places_per_slot() == 1 || (claim != nullptr && claim->session().memory_limit() != 0)) {
    return false;
  }
  if (is_large(*one.plan)) return false;
  one.device_bytes = device_bytes(*one.op, *one.plan);
  return one.device_bytes <= kSmallBytes;
}

bool Campaign::is_full_batch(const std::vector<Wanted>& cases) {
  if (cases.size() < kBatchCases) return false;
  uint64_t bytes = 0;
  for (const Wanted& one : cases) bytes += one.device_bytes;
  return bytes >= kBatchBytes;
}

Campaign::Outcomes Campaign::run_together(const std::vector<Wanted>& cases, const LaneClaim& claim,
                                          HeldLane* lane) {
  Outcomes outcomes;
  if (cases.empty()) return outcomes;
  if (cases.size() == 1) {
    outcomes.push_back(run_one(*cases[0].op, *cases[0].plan, *cases[0].settings, claim, lane));
    return outcomes;
  }
  // The limit was set after the cases were put together: each waits for memory without a lane.
  if (claim != nullptr && claim->session().memory_limit() != 0) {
    for (const Wanted& one : cases) {
      outcomes.push_back(run_one(*one.op, *one.plan, *one.settings, claim, lane));
    }
    return outcomes;
  }
  const auto all_are = [&](const Error& why) { return Outcomes(cases.size(), why); };
  uint64_t bytes = 0;
  for (const Wanted& one : cases) bytes += one.device_bytes;
  HeldLane none;
  HeldLane& held = lane == nullptr ? none : *lane;
  const auto memory = MemoryHold::take(claim, bytes);
  if (!memory) return all_are(memory.error());
  auto lease = slots_.acquire(claim, nullptr, std::move(held));
  if (!lease) return all_are(lease.error());
  lease->count_memory(bytes);
  {
    const auto began = std::chrono::steady_clock::now();
    std::vector<Result<std::unique_ptr<OnSlot>>> made;
    for (size_t i = 0; i < cases.size(); ++i) {
      Slot& place = i == 0 ? **lease : *(*lease)->beside[i - 1];
      large_.begin(*cases[i].plan);
      made.push_back(put_on_slot(cases[i], place, claim));
      if (made.back()) (*made.back())->run->plan();
    }
    if ((*lease)->worker.may_queue()) {
      for (auto& one : made) {
        if (one) (*one)->run->launch();
      }
      // Many slots share a GPU, which must not wait for what this thread does next.
      if ((*lease)->worker.is_contended()) (*lease)->worker.settle();
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      auto outcome = made[i] ? (*made[i])->finish() : Result<CaseReport>(made[i].error());
      // Kernels and references run while this thread is busy with other cases, which the duration
      // of a case leaves out.
      const auto each = (std::chrono::steady_clock::now() - began) / static_cast<int64_t>(i + 1);
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(each).count();
      large_.end(*cases[i].plan, outcome ? std::optional(std::max(outcome->result.duration_ms,
                                                                  static_cast<uint64_t>(ms)))
                                         : std::nullopt);
      outcomes.push_back(std::move(outcome));
    }
  }
  if (lane != nullptr) *lane = lease->end_case();
  return outcomes;
}

}  // namespace gpuemu
