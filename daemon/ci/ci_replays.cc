// Replays stored failures and the corpus before any new case runs.
#include <algorithm>
#include <set>
#include <thread>

#include "common/base/text.h"
#include "common/base/threads.h"
#include "common/codec/json_codec.h"
#include "daemon/case/reproduction.h"
#include "daemon/ci/ci_tests.h"

namespace gpuemu {

/// Returns whether the run generates the very same case anyway; with a budget, whether it may.
bool CiTests::will_be_generated(const OpConfig& op, const ReproductionInfo& info) const {
  const uint64_t number = info.iteration.value_or(0) / std::max<size_t>(1, op.dtypes.size());
  const bool minimized = info.value_scale.value_or(1) != 1;
  const bool beyond = number >= options_.cases && options_.budget.count() == 0;
  if (*info.base_seed != options_.seed || beyond || minimized) return false;
  const CaseOptions same = machine_.campaign.case_options(op, info.dtype);
  const auto plan = plan_case(op, options_.seed, info.iteration.value_or(0), same);
  return plan && plan->dims == info.dims && plan->attrs == info.attrs &&
         name_of(plan->value_strategy) == info.value_strategy &&
         plan->value_parameters == info.value_parameters && plan->case_seed == info.seed;
}

/// Returns whether the case has the number of one that variant_plans() may make.
bool CiTests::may_be_a_variants(const OpConfig& op, const ReproductionInfo& info) const {
  const uint64_t number = info.iteration.value_or(0) / std::max<size_t>(1, op.dtypes.size());
  const bool same = *info.base_seed == options_.seed && info.value_scale.value_or(1) == 1;
  return same && op.kernels.size() > 1 && number >= options_.cases &&
         number < options_.cases * (1 + op.kernels.size());
}

/// Loads the inputs, which listings leave out: a minimized case cannot be rebuilt without them.
Result<CasePlan> CiTests::plan_of_stored(const OpConfig& op, const ValidationResult& stored) {
  ReproductionInfo info = *stored.repro_info;
  if (info.value_strategy == name_of(Strategy::Stored) && !info.input_snapshot) {
    const ValidationResult whole = GPUEMU_TRY(machine_.store.failure(stored.seed, op.name));
    if (whole.repro_info) info.input_snapshot = whole.repro_info->input_snapshot;
  }
  return plan_from(op, info);
}

void CiTests::add_replays(const OpConfig& op, const std::vector<ValidationResult>& stored) {
  std::vector<std::string> unfit;
  std::set<uint64_t> seeds;
  for (const ValidationResult& one : stored) {
    if (!one.repro_info || !one.repro_info->base_seed) continue;
    CiUnit* unit = find(op.name, one.repro_info->dtype);
    if (unit == nullptr || unit->report.cached || !seeds.insert(one.seed).second) continue;
    if (!is_in_shard(one.seed, options_.shard, options_.shards)) continue;
    const bool comes_anyway = will_be_generated(op, *one.repro_info);
    if (comes_anyway && !deadline_) continue;
    auto plan = plan_of_stored(op, one);
    if (!plan) {
      unfit.push_back(plan.error().message);
      continue;
    }
    const auto named = machine_.config.find_kernel(plan->kernel);
    if (named == nullptr || std::ranges::find(op.kernels, plan->kernel) == op.kernels.end()) {
      plan->kernel.clear();  // Its kernel was renamed or is gone: use the current one.
    }
    if (comes_anyway || may_be_a_variants(op, *one.repro_info)) unit->twice[one.seed] = false;
    unit->replays.push_back(*std::move(plan));
  }
  if (!unfit.empty()) {
    notes_.push_back(fmt::format("{}: {} cannot be run again: {}", op.name,
                                 counted(unfit.size(), "stored case"), unfit.front()));
  }
}

void CiTests::break_units(const OpConfig& op, const std::string& why) {
  for (const auto& unit : units_) {
    if (unit->op == &op) unit->report.error = why;
  }
}

/// Returns the failures and the corpus of the op, all of which a run must repeat.
Result<std::vector<ValidationResult>> CiTests::stored_cases(const OpConfig& op) {
  auto stored = GPUEMU_TRY(machine_.store.list_failures(kReplaysMax, op.name));
  const auto corpus = GPUEMU_TRY(machine_.store.list_corpus(op.name));
  corpus_[op.name] = corpus.size();
  size_t unreadable = 0;
  for (const std::vector<std::byte>& entry : corpus) {
    const auto reply = decode_reply({reinterpret_cast<const char*>(entry.data()), entry.size()});
    const auto* record = reply ? std::get_if<ValidationResultReply>(&*reply) : nullptr;
    if (record != nullptr) stored.push_back(record->result);
    unreadable += record == nullptr ? 1 : 0;
  }
  if (unreadable == 0) return stored;
  notes_.push_back(fmt::format("{}: {} of its corpus cannot be read and {} left out", op.name,
                               counted(unreadable, "case"), unreadable == 1 ? "was" : "were"));
  for (const auto& unit : units_) {
    if (unit->op == &op) unit->key.reset();
  }
  return stored;
}

void CiTests::collect_replays() {
  std::set<const OpConfig*> ops;
  for (const auto& unit : units_) {
    if (unit->op->mode == ExecutionMode::Kernel) ops.insert(unit->op);
  }
  for (const OpConfig* op : ops) {
    corpus_[op->name] = kCorpusMax;
    const auto stored = stored_cases(*op);
    if (stored) {
      add_replays(*op, *stored);
    } else {
      break_units(*op, stored.error().with_context("its stored cases cannot be read").message);
    }
  }
}

Status CiTests::run_planned_case(const PlannedCase& planned) {
  CiUnit& unit = *planned.unit;
  const CasePlan& plan = planned.plan;
  auto outcome =
      machine_.campaign.run_one(*unit.op, plan, campaign_options().settings, options_.claim);
  events_.step();
  if (!outcome) {
    const ErrorCode code = outcome.error().code;
    // The generated cases report a kernel that does not compile.
    if (code == ErrorCode::Unsupported || code == ErrorCode::InvalidArgument ||
        code == ErrorCode::Compile || code == ErrorCode::NotFound) {
      return ok_status();
    }
    return outcome.error();
  }
  outcome->result.seed = plan.case_seed;
  const std::lock_guard lock(mutex_);
  ++unit.report.cases;
  unit.report.replayed += planned.is_stored ? 1 : 0;
  ++(outcome->result.passed ? unit.report.passed : unit.report.failed);
  unit.report.max_diff = std::max(unit.report.max_diff, outcome->result.max_diff);
  unit.report.bound_ratio_max = std::max(unit.report.bound_ratio_max, outcome->bound_ratio_max);
  // A failure that is already stored is not stored again as a new one.
  const bool is_new_failure = !planned.is_stored && !outcome->result.passed;
  GPUEMU_TRY(machine_.store.put_result(outcome->result, is_new_failure));
  if (!outcome->result.passed) events_.failed(outcome->result);
  const auto again = unit.twice.find(plan.case_seed);
  if (again != unit.twice.end()) again->second = true;
  note(*outcome);
  return ok_status();
}

Status CiTests::run_replays() {
  std::vector<PlannedCase> all;
  for (const auto& unit : units_) {
    for (const CasePlan& plan : unit->replays) all.push_back({unit.get(), plan, true});
  }
  return run_planned(all);
}

Status CiTests::run_planned(const std::vector<PlannedCase>& all) {
  events_.more(all.size());
  std::atomic<size_t> next{0};
  std::mutex failure_mutex;
  Status status;
  const auto work = [&] {
    for (size_t i = next++; i < all.size() && !is_over(); i = next++) {
      const Status done = run_planned_case(all[i]);
      if (done || done.error().code == ErrorCode::Cancelled) continue;
      const std::lock_guard lock(failure_mutex);
      status = done;
      next = all.size();
    }
  };
  const size_t threads = options_.threads_max > 0
                             ? options_.threads_max
                             : std::max(1U, std::thread::hardware_concurrency());
  run_on_threads(std::min(threads, all.size()), work);
  return status;
}

/// Returns true for a case that already ran as a stored one: merge() leaves it out.
/// REQUIRES: mutex_ is held.
bool CiTests::take_back(CiUnit& unit, const ValidationResult& result) {
  const auto replayed = unit.twice.find(result.seed);
  if (replayed == unit.twice.end() || !replayed->second) return false;
  unit.twice.erase(replayed);
  ++unit.surplus.cases;
  ++(result.passed ? unit.surplus.passed : unit.surplus.failed);
  return true;
}

}  // namespace gpuemu
