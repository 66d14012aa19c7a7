// Requests about artifacts and CI runs, which this version does not serve. The answer says so.
#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

Reply not_served(const char* request) {
  return ErrorReply{WireErrorCode::InternalError,
                    fmt::format("{} is not served by gpuemu {}: artifact metrics and CI runs are "
                                "not part of this version; use `gpuemu test`",
                                request, kVersion)};
}

}  // namespace

Reply handle(const LintKernelRequest&, Call&) { return not_served("LintKernel"); }
Reply handle(const StoreArtifactRequest&, Call&) { return not_served("StoreArtifact"); }
Reply handle(const StoreArtifactBaselineRequest&, Call&) {
  return not_served("StoreArtifactBaseline");
}
Reply handle(const DiffArtifactBaselineRequest&, Call&) {
  return not_served("DiffArtifactBaseline");
}
Reply handle(const GetArtifactRequest& request, Call&) {
  return ErrorReply{WireErrorCode::ArtifactNotFound,
                    fmt::format("no artifact of kernel '{}'", request.kernel_name)};
}
Reply handle(const ListArtifactsRequest&, Call&) { return ArtifactListReply{}; }
Reply handle(const RunCiRequest&, Call&) { return not_served("RunCi"); }
Reply handle(const GetCiSummaryRequest&, Call&) {
  return ErrorReply{WireErrorCode::NotFound, "no CI run since the daemon started"};
}

}  // namespace gpuemu
