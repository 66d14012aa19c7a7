// FuzzOp with a coverage-guided search.
#pragma once

#include "common/protocol/replies.h"
#include "common/protocol/requests.gen.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

struct CampaignOptions;
struct OpConfig;

/// The parameters of a run. References must outlive it.
struct GuidedFuzz {
  const OpConfig& op;
  const CampaignOptions& options;  ///< Including dtypes and cases_total.
  const FuzzOpRequest& request;
  Project& project;
};

/// Starts with the stored corpus and stores the final one. A corpus in the request is used instead,
/// and then nothing is stored. Failures are returned without diagnosis.
Reply guided_fuzz(const GuidedFuzz& asked, Call& call, JobControl& control);

}  // namespace gpuemu
