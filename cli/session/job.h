// Running a streamed request to its end: progress on a terminal, Ctrl-C cancels and keeps what was
// found.
#pragma once

#include <string>

#include "cli/session/session.h"

namespace gpuemu::cli {

struct JobResult {
  Reply reply = OkReply{};
  std::string json;  ///< The reply as the daemon wrote it.
  bool interrupted = false;
  bool incomplete = false;  ///< Ended before its work was done, and not by Ctrl-C.
};

/// Whether a job that Ctrl-C has cancelled is waited for, for what it found until then.
enum class AfterCancel { Wait, Leave };

/// `request` has stream set. `what` names the work in the progress line.
Result<JobResult> run_job(Session& session, const Request& request, const std::string& what,
                          AfterCancel after_cancel = AfterCancel::Wait);

/// What is said when the daemon went away during `what`.
Error lost_job(const std::string& what, const Error& why);
/// Says on standard error that `what` did not do all its work, and why.
void tell_incomplete(const JobResult& result, const std::string& what, Session& session);

/// What a job ended with.
template <class R>
struct Finished {
  R reply;
  std::string json;
  bool interrupted = false, incomplete = false;  ///< As in JobResult.

  /// The exit code of a command that would end with `code` if everything had run.
  ExitCode ended_with(ExitCode code) const {
    return interrupted ? ExitCode::Interrupted : incomplete ? ExitCode::Broken : code;
  }
};

/// For commands that are one job: starts a daemon if need be and runs `request` to its end. Nothing
/// when it failed, which has been told. With AfterCancel::Leave an interrupted job is nothing too,
/// and the exit code says so.
std::optional<JobResult> finish_any(Session& session, const Request& request,
                                    const std::string& what,
                                    AfterCancel after_cancel = AfterCancel::Wait);

/// As finish_job() above, for a job whose reply is an R.
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
