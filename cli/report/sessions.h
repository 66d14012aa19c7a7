// What `gpuemu sessions` and `gpuemu top` show.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// A table with a heading, one line per session.
std::vector<std::string> session_lines(const std::vector<SessionInfo>& sessions);
/// A table with a heading, one line per worker; none where there is no worker.
std::vector<std::string> remote_worker_lines(const std::vector<RemoteWorkerInfo>& workers);
/// Devices, sessions and jobs.
std::vector<std::string> top_lines(const TopReply& top);

}  // namespace gpuemu::cli
