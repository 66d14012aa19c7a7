// One handler per request; std::visit over Request picks it, so a request without one does not
// compile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "daemon/server/server.h"

namespace gpuemu {

/// What a handler knows beside the request: the context and the message's own text, which names
/// repeated requests.
struct Call {
  ServerContext& context;
  std::string key;
};

// handle_basic.cc
Reply handle(const PingRequest& request, Call& call);
Reply handle(const ShutdownRequest& request, Call& call);
Reply handle(const DevicesRequest& request, Call& call);
Reply handle(const ConfigShowRequest& request, Call& call);
Reply handle(const DaemonStatusRequest& request, Call& call);
Reply handle(const JobStatusRequest& request, Call& call);
Reply handle(const JobCancelRequest& request, Call& call);
// handle_submitted.cc
Reply handle(const ValidateOpRequest& request, Call& call);
Reply handle(const SubmitOutputRequest& request, Call& call);
// handle_results.cc
Reply handle(const GetResultRequest& request, Call& call);
Reply handle(const ListResultsRequest& request, Call& call);
Reply handle(const ListFailuresRequest& request, Call& call);
Reply handle(const DeleteFailuresRequest& request, Call& call);
Reply handle(const StoreBaselineRequest& request, Call& call);
Reply handle(const CompareBaselineRequest& request, Call& call);
// handle_campaign.cc
Reply handle(const FuzzOpRequest& request, Call& call);
Reply handle(const RunTestsRequest& request, Call& call);
// handle_calibrate.cc
Reply handle(const CalibrateRequest& request, Call& call);
// handle_coverage.cc
Reply handle(const KernelCoverageRequest& request, Call& call);
// handle_stored_case.cc
Reply handle(const ReproduceRequest& request, Call& call);
Reply handle(const MinimizeRequest& request, Call& call);
Reply handle(const GetCaseRequest& request, Call& call);
// handle_export.cc
Reply handle(const ExportCaseRequest& request, Call& call);
// handle_compare_kernels.cc
Reply handle(const CompareKernelsRequest& request, Call& call);
// handle_mutate.cc
Reply handle(const MutateRequest& request, Call& call);
// handle_prove.cc
Reply handle(const ProveRequest& request, Call& call);
// handle_explain.cc
Reply handle(const ExplainRequest& request, Call& call);
// handle_client_cases.cc
Reply handle(const GetTestCaseRequest& request, Call& call);
Reply handle(const GetTestBatchRequest& request, Call& call);
// handle_artifacts.cc
Reply handle(const LintKernelRequest& request, Call& call);
Reply handle(const StoreArtifactRequest& request, Call& call);
Reply handle(const StoreArtifactBaselineRequest& request, Call& call);
Reply handle(const DiffArtifactBaselineRequest& request, Call& call);
Reply handle(const GetArtifactRequest& request, Call& call);
Reply handle(const ListArtifactsRequest& request, Call& call);
// handle_baselines.cc
Reply handle(const ListBaselinesRequest& request, Call& call);
Reply handle(const GetBaselineRequest& request, Call& call);
Reply handle(const DeleteBaselineRequest& request, Call& call);
// handle_ci.cc
Reply handle(const RunCiRequest& request, Call& call);
Reply handle(const GetCiSummaryRequest& request, Call& call);
// handle_inspect.cc
Reply handle(const InspectRequest& request, Call& call);

/// Requests that wait for a lane, a compiler, the end of a job or large tensors, and may do so for
/// a minute and more. One that is missing here could keep Ping and Shutdown waiting.
template <typename R>
inline constexpr bool kMayTakeLong = false;
template <>
inline constexpr bool kMayTakeLong<KernelCoverageRequest> = true;
template <>
inline constexpr bool kMayTakeLong<CalibrateRequest> = true;
template <>
inline constexpr bool kMayTakeLong<ExportCaseRequest> = true;
template <>
inline constexpr bool kMayTakeLong<MutateRequest> = true;
template <>
inline constexpr bool kMayTakeLong<CompareKernelsRequest> = true;
template <>
inline constexpr bool kMayTakeLong<ProveRequest> = true;
template <>
inline constexpr bool kMayTakeLong<ExplainRequest> = true;
template <>
inline constexpr bool kMayTakeLong<ValidateOpRequest> = true;
template <>
inline constexpr bool kMayTakeLong<SubmitOutputRequest> = true;
template <>
inline constexpr bool kMayTakeLong<FuzzOpRequest> = true;
template <>
inline constexpr bool kMayTakeLong<RunTestsRequest> = true;
template <>
inline constexpr bool kMayTakeLong<ReproduceRequest> = true;
template <>
inline constexpr bool kMayTakeLong<MinimizeRequest> = true;
template <>
inline constexpr bool kMayTakeLong<InspectRequest> = true;
template <>
inline constexpr bool kMayTakeLong<RunCiRequest> = true;
template <>
inline constexpr bool kMayTakeLong<GetTestBatchRequest> = true;
template <>
inline constexpr bool kMayTakeLong<GetCaseRequest> = true;
template <>
inline constexpr bool kMayTakeLong<DeleteFailuresRequest> = true;
template <>
inline constexpr bool kMayTakeLong<JobStatusRequest> = true;

/// The project as it is now. ConfigError's text when gpuemu.toml is wrong.
Result<std::unique_ptr<Project>> open_project(Call& call);
/// What a request says instead of keys of gpuemu.toml, of all ops.
struct ProjectWish {
  std::optional<uint64_t> max_elements;
  bool strict = false;
};
Result<std::unique_ptr<Project>> open_project(Call& call, const ProjectWish& wish);
/// An error of open_project as a reply.
ErrorReply config_error(const Error& error);
/// OpNotFound with the names there are.
ErrorReply op_not_found(const Config& config, const std::string& name);
/// How a request wants its work to run.
struct JobWish {
  bool as_job = false;
  std::optional<uint64_t> lease_ms;
};
template <class Request>
JobWish job_wish(const Request& request) {
  return {request.stream, request.lease_ms};
}
/// The reply of `work`, or the number of the job that runs it.
Reply as_plain_or_job(const JobWish& wish, Call& call, const JobTable::Work& work);
/// One failure as a line of a job's log.
std::string log_line(const ValidationResult& failure);
/// Leaves out input snapshots (clients may miss them) where all of them would make a reply that is
/// too large. Reproduce still finds every one.
void bound_snapshots(std::vector<ValidationResult>& results);
/// A fresh seed from the operating system.
uint64_t fresh_seed();

}  // namespace gpuemu
