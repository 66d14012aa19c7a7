// FuzzOp with a search that follows coverage.
#pragma once

#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

struct CampaignOptions;
struct OpConfig;

/// References outlive the run.
struct GuidedFuzz {
  const OpConfig& op;
  const CampaignOptions& options;  ///< With dtypes and cases_total.
  const FuzzOpRequest& request;
  Project& project;
};

/// Begins with the stored corpus and stores the one that it ends with; one that the request gives
/// takes its place and leaves it as it is. Failures come without diagnosis.
Reply guided_fuzz(const GuidedFuzz& asked, Call& call, JobControl& control);

}  // namespace gpuemu
