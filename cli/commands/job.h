// Running a streamed request to its end: progress on a terminal, Ctrl-C cancels and keeps what was
// found.
#pragma once

#include <string>

#include "cli/commands/session.h"

namespace gpuemu::cli {

struct JobResult {
  Reply reply = OkReply{};
  std::string json;  ///< The same, as the daemon wrote it.
  bool interrupted = false;
};

/// Whether a job that Ctrl-C has cancelled is waited for, for what it found until then.
enum class AfterCancel { Wait, Leave };

/// `request` has stream set. `what` names the work in the progress line.
Result<JobResult> run_job(Session& session, const Request& request, const std::string& what,
                          AfterCancel after_cancel = AfterCancel::Wait);

}  // namespace gpuemu::cli
