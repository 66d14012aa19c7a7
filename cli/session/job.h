// Runs a streamed request to its end: shows progress on a terminal; Ctrl-C cancels it but keeps the
// results so far.
#pragma once

#include <string>

#include "cli/session/session.h"

namespace gpuemu::cli {

struct JobResult {
  Reply reply = OkReply{};
  std::string json;  ///< The reply as the daemon sent it.
  bool interrupted = false;
  bool incomplete = false;  ///< Whether it ended before its work was done, other than by Ctrl-C.
};

/// Whether to wait for the results of a job that Ctrl-C has cancelled.
enum class AfterCancel { Wait, Leave };

/// Runs the request, which must have `stream` set. `what` names the work in the progress line.
Result<JobResult> run_job(Session& session, const Request& request, const std::string& what,
                          AfterCancel after_cancel = AfterCancel::Wait);

/// Makes the error for a daemon that disappeared during `what`.
Error lost_job(const std::string& what, const Error& why);
/// Prints on standard error that `what` is incomplete, and why.
void tell_incomplete(const JobResult& result, const std::string& what, Session& session);

/// The result of a job.
template <class R>
struct Finished {
  R reply;
  std::string json;
  bool interrupted = false, incomplete = false;  ///< As in JobResult.

  /// Returns the exit code of a command that would end with `code` if everything had run.
  ExitCode ended_with(ExitCode code) const {
    return interrupted ? ExitCode::Interrupted : incomplete ? ExitCode::Broken : code;
  }
};

/// For commands that consist of one job: starts a daemon if necessary and runs `request` to its
/// end. Returns nothing on failure, which has been reported. With AfterCancel::Leave, an
/// interrupted job also returns nothing, and sets the exit code.
std::optional<JobResult> finish_any(Session& session, const Request& request,
                                    const std::string& what,
                                    AfterCancel after_cancel = AfterCancel::Wait);

/// Like finish_job() above, for a job whose reply is an R.
template <class R>
std::optional<Finished<R>> finish_job(Session& session, const Request& request,
                                      const std::string& what,
                                      AfterCancel after_cancel = AfterCancel::Wait) {
  auto done = finish_any(session, request, what, after_cancel);
  if (!done) return std::nullopt;
  auto* reply = std::get_if<R>(&done->reply);
  if (reply == nullptr) {
    session.fail(error(ErrorCode::Unavailable, "the daemon answered '{}' with something else: {}",
                       what, done->json));
    return std::nullopt;
  }
  return Finished<R>{std::move(*reply), std::move(done->json), done->interrupted, done->incomplete};
}

}  // namespace gpuemu::cli
