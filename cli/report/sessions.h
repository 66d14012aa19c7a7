// The tables of `gpuemu sessions` and `gpuemu top`.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/daemon.gen.h"
#include "common/protocol/sessions.gen.h"

namespace gpuemu::cli {

/// Returns a table with a heading and one line per session.
std::vector<std::string> session_lines(const std::vector<SessionInfo>& sessions);
/// Returns a table with a heading and one line per worker; empty if there are no workers.
std::vector<std::string> remote_worker_lines(const std::vector<RemoteWorkerInfo>& workers);
/// Returns tables of devices, sessions and jobs.
std::vector<std::string> top_lines(const TopReply& top);

}  // namespace gpuemu::cli
