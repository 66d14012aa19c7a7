#include "daemon/explain/compiler_sensitivity.h"

#include <algorithm>

#include "common/base/service_limits.h"
#include "common/config/config.h"
#include "daemon/campaign/campaign.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"
#include "daemon/explain/failure_reasons.h"
#include "daemon/schedule/extra_slots.h"
#include "judge/cases/case.h"
#include "runtime/device/contraction.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// One way to compile or run a kernel that CUDA permits.
struct Setting {
  const char* name;
  const char* contraction;  ///< "": that of the daemon's own slots.
  uint64_t seed = 0;
  ThreadOrder order = ThreadOrder::InOrder;
};
constexpr Setting kSettings[] = {
    {"contraction never", "never"},
    {"contraction always", "always"},
    {"contraction random 1", "random", 1},
    {"contraction random 2", "random", 2},
    {"order reverse", "", 0, ThreadOrder::Reverse},
    {"order random", "", 0, ThreadOrder::Random},
};

/// Returns whether the setting is the emulator's default.
bool is_usual(const Setting& setting, const SensitivityTask& task) {
  const auto own = contraction_from_name(task.config.contraction);
  const bool is_auto = !own || *own == Contraction::Auto;
  return task.own_backend == kEmulatorBackend &&
         setting.contraction == name_of(is_auto ? Contraction::Never : *own);
}

OpTestReport* find(TestReportReply& report, const OpTestReport& like) {
  const auto found = std::ranges::find_if(report.ops, [&](const OpTestReport& one) {
    return one.op_name == like.op_name && one.dtype == like.dtype;
  });
  return found == report.ops.end() ? nullptr : &*found;
}

/// Returns where the error of the case begins; nothing if the values do not show it.
std::optional<ExplainedStep> divergence_of(const ValidationResult& failure,
                                           const SensitivityTask& task, Campaign& campaign) {
  const OpConfig* op = task.config.find_op(failure.op_name);
  if (op == nullptr || !failure.repro_info) return std::nullopt;
  const auto plan = plan_from(*op, *failure.repro_info);
  if (!plan) return std::nullopt;
  const ExplainMachines machines{.own = campaign,
                                 .own_backend = std::string(kEmulatorBackend),
                                 .emulator = [&]() -> Result<Campaign*> { return &campaign; },
                                 .other_backend = {},
                                 .other = {}};
  const auto explained = explain_case({.config = task.config,
                                       .op = *op,
                                       .plan = *plan,
                                       .output = {},
                                       .index = {},
                                       .claim = task.options.claim,
                                       .timeout_ms = kDiagnosedCaseMsMax},
                                      machines);
  return explained ? explained->divergence : std::nullopt;
}

void add(const Setting& setting, const OpTestReport& changed, const SensitivityTask& task,
         Campaign& campaign, OpTestReport& to) {
  bool first = true;
  for (const ValidationResult& failure : changed.failures) {
    const bool passed = task.passed.contains({failure.op_name, failure.seed});
    if (!passed || failure.failures.empty()) continue;
    if (to.fragile.size() == kFragileListedMax) return;
    const ValidationFailure& finding = failure.failures.front();
    FragileCase found{failure.seed,
                      setting.name,
                      fmt::format("[{}] {}", name_of(finding.kind), finding.message),
                      {}};
    if (first) found.divergence = divergence_of(failure, task, campaign);
    first = false;
    to.fragile.push_back(std::move(found));
  }
}

}  // namespace

Status find_compiler_sensitive(const SensitivityTask& task, const std::atomic<bool>& cancel,
                               TestReportReply& report) {
  CampaignOptions options = task.options;
  options.settings = {};
  options.fail_fast = false;
  for (OpTestReport& one : report.ops) one.fragile_checked = one.passed;
  CampaignEvents events;
  events.on_cases = [](const std::vector<const CaseReport*>&) { return ok_status(); };
  events.on_total = [](uint64_t) {};
  for (const Setting& setting : kSettings) {
    if (cancel || is_usual(setting, task)) continue;
    Campaign* campaign = GPUEMU_TRY(task.campaign_on({.backend = std::string(kEmulatorBackend),
                                                      .contraction = setting.contraction,
                                                      .contraction_seed = setting.seed}));
    options.settings.order = setting.order;
    const TestReportReply changed = GPUEMU_TRY(campaign->run(options, events, cancel));
    for (const OpTestReport& one : changed.ops) {
      OpTestReport* to = find(report, one);
      if (to != nullptr) add(setting, one, task, *campaign, *to);
    }
  }
  return ok_status();
}

}  // namespace gpuemu
