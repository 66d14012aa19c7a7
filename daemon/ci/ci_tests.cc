#include "daemon/ci/ci_tests.h"

#include <algorithm>

#include "common/base/blake2.h"
#include "common/codec/json_codec.h"
#include "common/config/source_kind.h"
#include "common/protocol/op_state.h"
#include "daemon/case/reproduction.h"
#include "daemon/ci/case_samples.h"
#include "daemon/ci/compare_results.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

// Cases of one op between two looks at where coverage grows.
constexpr uint64_t kTurnCases = 16;

// Why an op has no cases: the gate is no success then.
constexpr const char* kNoTime = "no time was left for any of its cases";

std::vector<DType> dtypes_of(const OpConfig& op, const std::vector<DType>& wanted) {
  std::vector<DType> dtypes;
  for (const DType dtype : op.dtypes) {
    if (wanted.empty() || std::ranges::find(wanted, dtype) != wanted.end()) dtypes.push_back(dtype);
  }
  if (dtypes.empty() && !op.dtypes.empty()) dtypes.push_back(op.dtypes.front());
  return dtypes;
}

}  // namespace

/// A result with its place in the summary.
struct CiTests::Kept {
  const CiUnit* unit = nullptr;
  uint64_t iteration = 0;
  ValidationResult result;
};

CiTests::CiTests(const CiMachine& machine, const CiOptions& options, const CiEvents& events,
                 const std::atomic<bool>& cancel)
    : machine_(machine),
      options_(options),
      events_(events),
      cancel_(cancel),
      baseline_(options.baseline_results) {
  sort_baseline(baseline_);
  const auto longest = options.budget.count() > 0 ? options.budget : options.limit;
  if (longest.count() > 0) deadline_ = Clock::now() + longest;
}

CiTests::~CiTests() = default;

bool CiTests::is_over() const { return cancel_ || (deadline_ && Clock::now() >= *deadline_); }

CiUnit* CiTests::find(const std::string& op, DType dtype) {
  for (const auto& unit : units_) {
    if (unit->report.op_name == op && unit->report.dtype == dtype) return unit.get();
  }
  return nullptr;
}

void CiTests::take_cached(CiUnit& unit, VerdictCache& cache) {
  if (!unit.key) return;
  auto kept = cache.op(unit.report.op_name, unit.report.dtype, *unit.key);
  if (!kept) return;
  unit.report = std::move(kept->op);
  unit.notes = std::move(kept->notes);
  for (size_t i = 0; i < kept->results.size(); ++i) list(unit, i, kept->results[i], false);
}

/// What the verdict is compared with: kept under one baseline, it says nothing under another.
std::string CiTests::baseline_text(const OpConfig& op) const {
  std::string text;
  for (const ValidationResult& one : baseline_) {
    if (one.op_name == op.name) {
      text += fmt::format("{} {} {};", one.seed, one.passed, one.max_diff);
    }
  }
  return text.empty() ? text : " baseline " + content_hash({text});
}

/// Nothing when no kept verdict may be used: then none is kept either.
std::optional<std::string> CiTests::key_of(const OpConfig& op) const {
  if (!options_.cached || op.mode != ExecutionMode::Kernel) return std::nullopt;
  std::string text = fmt::format("{} seed {} cases {} shard {}/{}", machine_.identity,
                                 options_.seed, options_.cases, options_.shard, options_.shards);
  // Failures that were found meanwhile are to be run again.
  const auto stored = machine_.store.list_failures(kReplaysMax, op.name);
  if (!stored) return std::nullopt;
  for (const ValidationResult& one : *stored) text += fmt::format(" {}", one.seed);
  return fingerprint_of(machine_.config, op, machine_.inspect, {text + baseline_text(op)});
}

void CiTests::make_units() {
  VerdictCache cache(machine_.store);
  const Config& config = machine_.config;
  for (size_t index = 0; index < config.ops.size(); ++index) {
    const OpConfig& op = config.ops[index];
    const std::optional<std::string> key = key_of(op);
    for (const DType dtype : dtypes_of(op, options_.dtypes)) {
      auto unit = std::make_unique<CiUnit>();
      unit->op = &op;
      unit->op_index = index;
      unit->key = key;
      unit->report.op_name = op.name;
      unit->report.dtype = dtype;
      take_cached(*unit, cache);
      unit->report.file = op.file;
      unit->report.line = op.line;
      units_.push_back(std::move(unit));
      if (op.mode != ExecutionMode::Kernel) break;  // Their cases have dtypes of their own.
    }
  }
}

void CiTests::run_scripts() {
  for (const auto& unit : units_) {
    if (unit->op->mode == ExecutionMode::Kernel) continue;
    const bool scripted =
        unit->op->mode == ExecutionMode::ScriptBased && !unit->op->op_script.empty();
    const bool mine = is_in_shard(unit->op_index, options_.shard, options_.shards);
    if (!scripted || !mine || cancel_) {
      if (!scripted) {
        set_op_state(unit->report, OpState::RunsInClient, kRunsInClient);
      } else if (mine) {
        set_op_state(unit->report, OpState::Stopped, "stopped before its first case");
      } else {
        set_op_state(unit->report, OpState::Skipped, "belongs to another shard");
      }
      continue;
    }
    run_script_op(*unit);
  }
}

void CiTests::run_script_op(CiUnit& unit) {
  CiOp& op = unit.report;
  const auto start = Clock::now();
  const auto on_case = [&](const ValidationResult& result, double bound_ratio_max) {
    ++op.cases;
    ++(result.passed ? op.passed : op.failed);
    op.max_diff = std::max(op.max_diff, result.max_diff);
    op.bound_ratio_max = std::max(op.bound_ratio_max, bound_ratio_max);
    const std::lock_guard lock(mutex_);
    list(unit, op.cases, result, false);
  };
  events_.more(options_.cases);
  const auto results =
      events_.run_script_op({*unit.op, options_.cases, options_.dtypes, deadline_, on_case});
  op.duration_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  if (!results) {
    op.error = results.error().message;
  } else if (!cancel_) {
    op.error = op.cases == 0 && results->error.empty() ? kNoTime : results->error;
    unit.not_run = options_.cases - std::min(options_.cases, op.cases);
  }
}

CampaignOptions CiTests::campaign_options() const {
  CampaignOptions options;
  options.dtypes = options_.dtypes;
  options.prefer_dtypes = true;
  options.cases = options_.cases;
  options.seed = options_.seed;
  options.claim = options_.claim;
  options.shard = options_.shard;
  options.shards = options_.shards;
  options.threads_max = options_.threads_max;
  options.deadline = deadline_;
  options.settings.extras = {Extra::Reproduction, Extra::Evidence};
  const bool profiled = options_.coverage || options_.budget.count() > 0;
  if (profiled) options.settings.extras.add(Extra::LineProfile);
  return options;
}

CampaignEvents CiTests::campaign_events() {
  CampaignEvents events;
  events.on_total = events_.more;
  events.on_warning = events_.warn;
  events.on_op_started = events_.op_started;
  events.on_cases = [this](const std::vector<const CaseReport*>& outcomes) {
    return keep(outcomes);
  };
  return events;
}

Status CiTests::keep_corpus(const CiUnit& unit, const CaseReport& outcome) {
  size_t& entries = corpus_[unit.report.op_name];
  if (entries >= kCorpusMax || !outcome.result.passed) return ok_status();
  ++entries;
  const std::string text = encode_reply(ValidationResultReply{outcome.result});
  return machine_.store.put_corpus(unit.report.op_name, std::as_bytes(std::span(text)));
}

Status CiTests::keep(const std::vector<const CaseReport*>& outcomes) {
  std::vector<ResultToKeep> results;
  for (const CaseReport* one : outcomes) results.push_back({one->result, !one->result.passed});
  GPUEMU_TRY(machine_.store.put_results(results));
  const std::lock_guard lock(mutex_);
  for (const CaseReport* one : outcomes) {
    events_.step();
    CiUnit* unit = find(one->result.op_name, one->result.repro_info->dtype);
    if (unit != nullptr) ++unit->chosen[one->kernel];
    if (unit != nullptr) unit->variants.add(*one);
    if (unit != nullptr) unit->remarks.insert(one->remarks.begin(), one->remarks.end());
    if (unit != nullptr && take_back(*unit, one->result)) continue;
    if (!one->result.passed) events_.failed(one->result);
    const size_t before = found_;
    note(*one);
    if (found_ > before && unit != nullptr) GPUEMU_TRY(keep_corpus(*unit, *one));
  }
  return ok_status();
}

/// REQUIRES: mutex_ is held.
void CiTests::note(const CaseReport& outcome) {
  const ValidationResult& result = outcome.result;
  CiUnit* unit = result.repro_info ? find(result.op_name, result.repro_info->dtype) : nullptr;
  if (unit != nullptr) ++unit->ran[outcome.kernel];
  if (unit != nullptr) {
    const ReproductionInfo& info = *result.repro_info;
    unit->evidence.add(outcome, info.value_strategy, info.dims);
    add_sample(outcome, unit->report);
  }
  if (unit != nullptr && !outcome.extras.lines.empty()) {
    found_ += unit->gain.add(outcome.extras.lines);
    const KernelConfig* kernel = machine_.config.find_kernel(outcome.kernel);
    const bool is_text = kernel != nullptr && source_kind(kernel->source) == SourceKind::Ptx;
    if (options_.coverage) coverage_.add(outcome.extras.lines, is_text ? kernel->source : "");
  }
  const ValidationResult* old = same_case(baseline_, result);
  const bool regressed = old != nullptr && compare_result(result, old).is_regression;
  if (unit == nullptr) return;
  unit->regressed = unit->regressed || regressed;
  const uint64_t place = result.repro_info ? result.repro_info->iteration.value_or(0) : 0;
  list(*unit, place, result, regressed);
}

/// Puts a result in the summary, one that passes as it should while there is room.
/// REQUIRES: mutex_ is held.
void CiTests::list(const CiUnit& unit, uint64_t place, const ValidationResult& result,
                   bool regressed) {
  if (result.passed && !regressed && ++passing_kept_ > kPassingMax) return;
  Kept kept{&unit, place, result};
  if (result.passed) kept.result.repro_info.reset();
  kept_.push_back(std::move(kept));
}

void CiTests::merge(const TestReportReply& report) {
  for (const OpTestReport& one : report.ops) {
    CiUnit* unit = find(one.op_name, one.dtype);
    if (unit == nullptr || unit->op->mode != ExecutionMode::Kernel) continue;
    CiOp& op = unit->report;
    if (!one.kernel.empty()) op.kernel = one.kernel;
    if (!cancel_ && is_over()) unit->not_run += one.not_run;
    op.cases += one.cases - unit->surplus.cases;
    op.passed += one.passed - unit->surplus.passed;
    op.failed += one.failed - unit->surplus.failed;
    unit->surplus = {};
    op.duration_ms += one.duration_ms;
    op.max_diff = std::max(op.max_diff, one.max_diff);
    op.bound_ratio_max = std::max(op.bound_ratio_max, one.bound_ratio_max);
    if (one.state == OpState::Broken) {
      op.error = op_reason(one);
    } else if (op.cases == 0 && deadline_ && is_over()) {
      op.error = kNoTime;
    } else if (op.cases == 0 && options_.shards > options_.cases) {
      set_op_state(op, OpState::Skipped, "all its cases belong to other shards");
    } else if (op.cases == 0) {
      set_op_state(op, one.state, op_reason(one));
    }
  }
}

Status CiTests::run_cases() {
  CampaignOptions options = campaign_options();
  size_t left = 0;
  for (const auto& unit : units_) {
    const bool runs = unit->op->mode == ExecutionMode::Kernel && !unit->report.cached;
    if (!runs) options.left_out.insert({unit->report.op_name, unit->report.dtype});
    if (runs) {
      options.ops.push_back(unit->report.op_name);
      ++left;
    }
    // Numbers behind the first belong to the variants, each its own: see variant_plans().
    const uint64_t variants = unit->op->kernels.size() > 1 ? unit->op->kernels.size() : 0;
    unit->next_number = options_.cases * (1 + variants);
  }
  if (left == 0) return ok_status();
  merge(GPUEMU_TRY(machine_.campaign.run(options, campaign_events(), cancel_)));
  return ok_status();
}

/// Plans for one variant of one op: behind the cases for all variants, and as many.
std::vector<CasePlan> CiTests::variant_plans(const CiUnit& unit, size_t variant) const {
  const OpConfig& op = *unit.op;
  const DType dtype = unit.report.dtype;
  const CaseOptions options = machine_.campaign.case_options(op, dtype);
  const auto dtype_index =
      static_cast<uint64_t>(std::ranges::find(op.dtypes, dtype) - op.dtypes.begin());
  std::vector<CasePlan> plans;
  for (uint64_t i = 0; i < options_.cases; ++i) {
    const uint64_t number = options_.cases * (1 + variant) + i;
    if (!is_in_shard(number, options_.shard, options_.shards)) continue;
    auto plan = plan_case(op, options_.seed, number * op.dtypes.size() + dtype_index, options);
    // The cases for all variants have said why none can be made.
    if (!plan) break;
    plan->kernel = op.kernels[variant];
    if (!unit.twice.contains(plan->case_seed)) plans.push_back(*std::move(plan));
  }
  return plans;
}

/// A variant that no case selects runs as soon as a size comes that the others do not take: it gets
/// as many cases of its own. Where the policy prefers one, the others are not meant to run.
Status CiTests::run_variants() {
  std::vector<PlannedCase> planned;
  std::vector<std::pair<CiUnit*, std::string>> idle;
  for (const auto& unit : units_) {
    const bool runs = unit->op->mode == ExecutionMode::Kernel && !unit->report.cached &&
                      unit->report.cases > 0 && unit->report.error.empty();
    for (size_t i = 0; runs && unit->op->kernels.size() > 1 && i < unit->op->kernels.size(); ++i) {
      if (unit->chosen[unit->op->kernels[i]] > 0) continue;
      idle.emplace_back(unit.get(), unit->op->kernels[i]);
      if (machine_.config.kernel_policy.contains(unit->op->name)) continue;
      for (CasePlan& plan : variant_plans(*unit, i)) {
        planned.push_back({unit.get(), std::move(plan), false});
      }
    }
  }
  GPUEMU_TRY(run_planned(planned));
  for (const auto& [unit, variant] : idle) tell_idle(*unit, variant);
  return ok_status();
}

Status CiTests::grow() {
  std::vector<CiUnit*> able;
  for (const auto& unit : units_) {
    const bool runs = unit->op->mode == ExecutionMode::Kernel && unit->report.cases > 0;
    if (runs && unit->report.error.empty() && unit->report.failed == 0) able.push_back(unit.get());
  }
  if (options_.budget.count() == 0 || able.empty()) return ok_status();
  OpPicker picker(able.size());
  const uint64_t cases = kTurnCases * std::max<uint64_t>(1, options_.shards);
  while (!is_over()) {
    const size_t turn = picker.next();
    CiUnit& unit = *able[turn];
    CampaignOptions options = campaign_options();
    options.ops = {unit.report.op_name};
    options.dtypes = {unit.report.dtype};
    options.cases = cases;
    options.first_number = unit.next_number;
    unit.next_number += cases;
    found_ = 0;
    const uint64_t before = unit.report.cases;
    const auto start = Clock::now();
    const uint64_t not_run = unit.not_run;
    merge(GPUEMU_TRY(machine_.campaign.run(options, campaign_events(), cancel_)));
    unit.not_run = not_run;  // What is beyond the profile's cases nobody misses.
    picker.ran(turn, unit.report.cases - before, found_, Clock::now() - start);
  }
  return ok_status();
}

void CiTests::keep_verdicts() {
  VerdictCache cache(machine_.store);
  for (const auto& unit : units_) {
    const CiOp& op = unit->report;
    const bool success =
        op.error.empty() && op.failed == 0 && op.skipped_reason.empty() && !unit->regressed;
    const bool whole = !cancel_ && !is_over();
    // A cached report would not say what was left out.
    const bool complete = machine_.campaign.sizes_left_out(*unit->op, op.dtype).empty();
    if (!unit->key || op.cached || !success || !whole || !complete) continue;
    const std::string& script = unit->op->reference;
    const std::optional<std::vector<FileContent>> reads =
        script.empty() ? std::vector<FileContent>()
                       : contents_of(machine_.campaign.reference_files().of(script), start_);
    // A verdict that is not kept is made again.
    if (!reads) continue;
    KeptVerdict verdict{op, {}, notes_of(*unit)};
    for (const Kept& one : kept_) {
      if (one.unit == unit.get()) verdict.results.push_back(one.result);
    }
    if (const Status kept = cache.keep(verdict, *unit->key, *reads); !kept) {
      events_.warn(kept.error().message);
    }
  }
}

void CiTests::map_worst(CiRunSummary& summary) {
  for (const ValidationResult& result : summary.validation_results) {
    const bool comparable = !result.passed && result.repro_info && result.repro_info->base_seed &&
                            std::ranges::any_of(result.failures, [](const ValidationFailure& one) {
                              return one.kind == FindingKind::ToleranceExceeded ||
                                     one.kind == FindingKind::NaNDetected ||
                                     one.kind == FindingKind::InfDetected;
                            });
    const OpConfig* op = comparable ? machine_.config.find_op(result.op_name) : nullptr;
    if (op == nullptr || op->mode != ExecutionMode::Kernel) continue;
    const auto plan = plan_from(*op, *result.repro_info);
    if (!plan) continue;
    const auto outcome =
        machine_.campaign.run_one(*op, *plan, {.extras = Extra::ErrorMap}, options_.claim);
    if (!outcome || !outcome->extras.error_map || outcome->extras.error_map->cells.empty()) {
      continue;
    }
    summary.worst = outcome->extras.error_map;
    summary.worst->op_name = op->name;
    summary.worst->seed = result.seed;
    return;
  }
}

Status CiTests::run(CiRunSummary& summary) {
  make_units();
  collect_replays();
  GPUEMU_TRY(run_replays());
  GPUEMU_TRY(run_cases());
  run_scripts();
  GPUEMU_TRY(run_variants());
  GPUEMU_TRY(grow());
  for (const auto& unit : units_) {
    renew_idle(*unit);
    if (!unit->report.cached) {
      unit->report.evidence = unit->evidence.evidence(unit->report.dtype, unit->op->dims);
    }
  }
  std::ranges::stable_sort(
      kept_, {}, [](const Kept& one) { return std::pair(one.unit->op_index, one.iteration); });
  keep_verdicts();
  tell_not_run();
  if (options_.limit.count() > 0 && options_.budget.count() == 0 && is_over() && !cancel_) {
    notes_.push_back(fmt::format("stopped after {} s (ci.thorough_timeout); not all cases ran",
                                 options_.limit.count() / 1000));
  }
  for (Kept& one : kept_) summary.validation_results.push_back(std::move(one.result));
  for (const auto& unit : units_) summary.ops.push_back(unit->report);
  if (passing_kept_ > kPassingMax) {
    notes_.push_back(
        fmt::format("{} passing cases are counted but not listed", passing_kept_ - kPassingMax));
  }
  if (options_.coverage) summary.coverage = coverage_.lines();
  if (options_.coverage && summary.coverage.empty()) {
    notes_.push_back(
        "no coverage: nothing ran on the emulator, or the kernels have no line information "
        "(compile_flags = [\"-lineinfo\"])");
  }
  if (!cancel_) map_worst(summary);
  for (const auto& unit : units_) tell(*unit);
  summary.notes.insert(summary.notes.end(), notes_.begin(), notes_.end());
  return ok_status();
}

}  // namespace gpuemu
