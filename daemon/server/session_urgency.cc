#include "daemon/server/session_urgency.h"

#include <algorithm>

#include "common/config/config.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/server.h"

namespace gpuemu {
namespace {

// A RunTests with at most this many cases is treated as interactive.
constexpr uint64_t kInteractiveCases = 64;

template <typename List, typename One>
bool names(const List& list, const One& one) {
  return list.empty() || std::ranges::find(list, one) != list.end();
}

/// Counts over all ops and dtypes; more than kInteractiveCases if they cannot be counted.
uint64_t cases_of(const RunTestsRequest& request, const ServerContext& context) {
  const auto config = context.config.current();
  if (!config) return kInteractiveCases + 1;
  const uint64_t each = request.cases > 0 ? request.cases : (*config)->cases;
  uint64_t total = 0;
  for (const OpConfig& op : (*config)->ops) {
    if (!names(request.ops, op.name)) continue;
    for (const DType dtype : op.dtypes) {
      if (names(request.dtypes, dtype)) total += std::min(each, kInteractiveCases + 1);
    }
  }
  return total;
}

}  // namespace

Urgency urgency_of(const Request& request, SessionClass session_class,
                   const ServerContext& context) {
  if (session_class == SessionClass::Interactive) return Urgency::Interactive;
  if (session_class == SessionClass::Batch) return Urgency::Batch;
  const auto* const tests = std::get_if<RunTestsRequest>(&request);
  const bool is_waited_for =
      tests != nullptr ? cases_of(*tests, context) <= kInteractiveCases
                       : is_one_of<ValidateOpRequest, SubmitOutputRequest, ReproduceRequest,
                                   ExplainRequest, GetTestCaseRequest, MinimizeRequest>(request);
  return is_waited_for ? Urgency::Interactive : Urgency::Batch;
}

}  // namespace gpuemu
