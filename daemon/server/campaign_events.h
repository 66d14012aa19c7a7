// What handlers of campaigns do with the cases as they end.
#pragma once

#include "daemon/campaign/campaign.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// Every case of a run for the reply, the inputs only as far as a reply may hold them. For one
/// thread at a time.
class ToldResults {
 public:
  void add(const ValidationResult& result);
  std::vector<ValidationResult> take() { return std::move(all_); }

 private:
  std::vector<ValidationResult> all_;
  size_t snapshot_bytes_ = 0;
};

/// Keeps every result before it counts, tells the job how far it is, and adds to `told` where that
/// is not null. All outlive the events.
CampaignEvents keeping_events(ServerContext& context, JobControl& control,
                              ToldResults* told = nullptr);

}  // namespace gpuemu
