// How handlers of campaigns process the results of cases.
#pragma once

#include "daemon/campaign/campaign.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// Collects every case of a run for the reply, with inputs only up to the size of a reply. Not
/// thread-safe.
class ToldResults {
 public:
  void add(const ValidationResult& result);
  std::vector<ValidationResult> take() { return std::move(all_); }

 private:
  std::vector<ValidationResult> all_;
  size_t snapshot_bytes_ = 0;
};

/// Stores every result before it counts, updates the job's progress, and adds to `told` if it is
/// not null. All must outlive the events.
CampaignEvents keeping_events(ServerContext& context, JobControl& control,
                              ToldResults* told = nullptr);

}  // namespace gpuemu
