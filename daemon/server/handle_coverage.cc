// KernelCoverage: measures what the corpus and generated cases cover of one kernel.
#include <algorithm>

#include "common/config/source_kind.h"
#include "common/protocol/op_state.h"
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/search/corpus.h"
#include "daemon/search/coverage_map.h"
#include "daemon/server/campaign_events.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

class KernelCover {
 public:
  /// All arguments must outlive it.
  KernelCover(const KernelConfig& kernel, Project& project, Call& call, JobControl& control)
      : kernel_(kernel), project_(project), call_(call), control_(control) {}

  Reply run(uint64_t cases, uint64_t seed) {
    reply_.kernel = kernel_.name;
    reply_.seed = seed;
    for (const OpConfig& op : project_.config().ops) {
      const bool uses = std::ranges::find(op.kernels, kernel_.name) != op.kernels.end();
      if (op.mode != ExecutionMode::Kernel || !uses || control_.cancel) continue;
      reply_.ops.push_back(op.name);
      const Status replayed = run_corpus(op);
      if (!replayed) return error_reply(replayed.error());
      const auto report = run_cases(op, cases);
      if (!report) return error_reply(report.error());
      for (const OpTestReport& one : report->ops) {
        if (one.state == OpState::Broken) {
          return ErrorReply{WireErrorCode::PtxParseError, op_reason(one)};
        }
      }
    }
    if (map_.empty()) return ErrorReply{WireErrorCode::InvalidRequest, why_empty()};
    reply_.lines = map_.lines();
    reply_.branches = map_.branches();
    reply_.blocks = map_.blocks();
    reply_.blocks_total = map_.blocks_total();
    reply_.edges = map_.edges();
    reply_.edges_total = map_.edges_total();
    return std::move(reply_);
  }

 private:
  void count(const CaseReport& outcome) {
    if (outcome.kernel != kernel_.name) {
      ++others_;
      return;
    }
    ++reply_.cases;
    if (!outcome.result.passed) ++reply_.failed;
    map_.add(outcome.extras.coverage,
             source_kind(kernel_.source) == SourceKind::Ptx ? kernel_.source : "");
  }

  Status run_corpus(const OpConfig& op) {
    const auto entries = GPUEMU_TRY(call_.context.store.list_corpus(op.name));
    for (const CasePlan& plan : corpus_plans(op, entries)) {
      if (control_.cancel) return ok_status();
      const auto outcome =
          project_.campaign().run_one(op, plan, {.extras = Extra::CoverageLines}, call_.claim);
      // A kernel that cannot run is reported by the generated cases.
      if (!outcome) continue;
      const uint64_t before = reply_.cases;
      count(*outcome);
      reply_.replayed += reply_.cases - before;
    }
    return ok_status();
  }

  Result<TestReportReply> run_cases(const OpConfig& op, uint64_t cases) {
    CampaignOptions options;
    options.ops = {op.name};
    options.cases = cases;
    options.seed = reply_.seed;
    options.claim = call_.claim;
    options.settings.extras = Extra::CoverageLines;
    CampaignEvents events = keeping_events(call_.context, control_);
    const uint64_t total = control_.total;
    events.on_total = [this, total](uint64_t more) { control_.total = total + more; };
    const auto keep = events.on_cases;
    events.on_cases = [&](const std::vector<const CaseReport*>& ended) {
      for (const CaseReport* one : ended) count(*one);
      return keep(ended);
    };
    return project_.campaign().run(options, events, control_.cancel);
  }

  std::string why_empty() const {
    if (reply_.ops.empty()) {
      return fmt::format("no op with a reference uses kernel '{}', so it has no cases to run",
                         kernel_.name);
    }
    if (reply_.cases == 0 && others_ > 0) {
      return fmt::format(
          "all cases ran on other variants than '{}'; prefer it with runtime.kernel_policy or "
          "raise its priority",
          kernel_.name);
    }
    if (reply_.cases == 0) return fmt::format("no case of kernel '{}' could run", kernel_.name);
    return fmt::format("backend {} does not count what runs; set runtime.backend = \"emulator\"",
                       call_.context.backend);
  }

  const KernelConfig& kernel_;
  Project& project_;
  Call& call_;
  JobControl& control_;
  CoverageMap map_;
  KernelCoverageReply reply_;
  uint64_t others_ = 0;  ///< Cases that ran another variant.
};

Reply cover(const KernelCoverageRequest& request, Call& call, JobControl& control) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const Config& config = (*project)->config();
  const KernelConfig* kernel = config.find_kernel(request.kernel);
  if (kernel == nullptr) {
    return ErrorReply{WireErrorCode::KernelNotFound,
                      fmt::format("no kernel '{}' in {}", request.kernel, config.file)};
  }
  return KernelCover(*kernel, **project, call, control)
      .run(request.cases > 0 ? request.cases : config.cases,
           request.seed ? *request.seed : config.seed.value_or(fresh_seed()));
}

}  // namespace

Reply handle(const KernelCoverageRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return cover(request, kept, control);
  });
}

}  // namespace gpuemu
