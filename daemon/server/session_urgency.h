// Decides which requests are interactive: their client waits for the answer.
#pragma once

#include "common/protocol/requests.h"
#include "daemon/schedule/lane_claim.h"

namespace gpuemu {

struct ServerContext;

/// Returns whether the request's work precedes batch work, in a session of this class.
Urgency urgency_of(const Request& request, SessionClass session_class,
                   const ServerContext& context);

}  // namespace gpuemu
