// What handlers of campaigns do with the cases as they end.
#pragma once

#include "daemon/campaign/campaign.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// Keeps every result before it counts and tells the job how far it is. Both outlive the events.
CampaignEvents keeping_events(ServerContext& context, JobControl& control);

}  // namespace gpuemu
