// Polls a job.
#include "cli/session/job.h"

#include <optional>
#include <ostream>
#include <vector>

#include "common/base/service_limits.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kPollMs = 200;
constexpr int kBarWidth = 24;

/// `last` is the newest line of the job's log, if there is one.
void draw(Session& session, const JobStatusReply& status, const std::optional<JobLine>& last,
          const std::string& what) {
  if (!session.terminal) return;
  if (status.total == 0 && last && last->kind == JobLineKind::Compiling) {
    session.err << '\r' << what << ": " << last->text << "\x1b[K" << std::flush;
    return;
  }
  const double part =
      status.total > 0 ? static_cast<double>(status.done) / static_cast<double>(status.total) : 0;
  const int filled = static_cast<int>(part * kBarWidth);
  session.err << '\r' << what << " [" << std::string(static_cast<size_t>(filled), '#')
              << std::string(static_cast<size_t>(kBarWidth - filled), ' ') << "] " << status.done
              << '/' << status.total << fmt::format(" {:.0f}/s", status.rate);
  if (status.failures > 0) session.err << ", " << status.failures << " failing";
  session.err << "\x1b[K" << std::flush;
}

void clear(Session& session) {
  if (session.terminal) session.err << "\r\x1b[K" << std::flush;
}

/// Gives the job a lease, so that it ends even if this process dies before its first poll.
Request with_lease(Request request) {
  if (std::optional<uint64_t>* const lease = lease_of(request)) {
    *lease = uint64_t{kCommandLease.count()};
  }
  return request;
}

/// Returns the daemon's reason why the job ended early.
std::string incomplete_text(const Reply& reply) {
  const std::string* const incomplete = incomplete_of(reply);
  return incomplete != nullptr ? *incomplete : "";
}

/// Records where the daemon ran the kernels.
void note_execution(Session& session, const Reply& result) {
  const std::string* const execution = execution_of(result);
  if (execution != nullptr) session.note_execution(*execution);
}

}  // namespace

Error lost_job(const std::string& what, const Error& why) {
  return {ErrorCode::Unavailable,
          fmt::format("{} is incomplete: {}; what it had found is kept: see `gpuemu failures`",
                      what, why.message)};
}

void tell_incomplete(const JobResult& result, const std::string& what, Session& session) {
  const std::string why = incomplete_text(result.reply);
  session.err << fmt::format("gpuemu: {} is incomplete: {}\n", what,
                             why.empty() ? "the daemon ended it early" : why);
}

Result<JobResult> run_job(Session& session, const Request& request, const std::string& what,
                          AfterCancel after_cancel) {
  const Reply started = GPUEMU_TRY(session.call(with_lease(request)));
  const auto* job = std::get_if<JobStartedReply>(&started);
  if (job == nullptr) return JobResult{started, encode_reply(started), false, false};
  bool cancelled = false;
  JobStatusRequest ask{.job_id = job->job_id, .lease_ms = uint64_t{kCommandLease.count()}};
  ask.lines_from = 0;
  if (session.events) ask.events_from = 0;
  std::vector<JobLine> lines;
  for (;;) {
    if (session.interrupted && !cancelled) {
      GPUEMU_TRY(session.call(JobCancelRequest{job->job_id}));
      cancelled = true;
      if (after_cancel == AfterCancel::Leave) {
        clear(session);
        return JobResult{OkReply{}, encode_reply(OkReply{}), true, false};
      }
    }
    ask.wait_ms = kPollMs;
    const Reply reply = GPUEMU_TRY(session.call(ask));
    const auto* status = std::get_if<JobStatusReply>(&reply);
    if (const auto* unknown = std::get_if<ErrorReply>(&reply)) {
      return error(ErrorCode::Unavailable, "the daemon was stopped or started anew ({})",
                   unknown->message);
    }
    if (status == nullptr) return JobResult{reply, encode_reply(reply), cancelled, false};
    *ask.lines_from += status->lines.size();
    lines.insert(lines.end(), status->lines.begin(), status->lines.end());
    if (session.events) {
      session.events->follow(*status);
      *ask.events_from += status->events.size();
    } else {
      draw(session, *status, lines.empty() ? std::nullopt : std::optional(lines.back()), what);
    }
    if (status->state == JobState::Running) continue;
    clear(session);
    for (const JobLine& line : lines) {
      if (line.kind == JobLineKind::Warning && !session.events) {
        session.err << "warning: " << line.text << '\n';
      }
    }
    Reply result = GPUEMU_TRY(decode_reply(status->result_json));
    note_execution(session, result);
    const bool ended_early = status->state == JobState::Cancelled ||
                             status->code == WireErrorCode::Stopped ||
                             !incomplete_text(result).empty();
    return JobResult{std::move(result), status->result_json, cancelled, ended_early && !cancelled};
  }
}

std::optional<JobResult> finish_any(Session& session, const Request& request,
                                    const std::string& what, AfterCancel after_cancel) {
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  auto done = run_job(session, request, what, after_cancel);
  if (!done) {
    const bool lost = done.error().code == ErrorCode::Unavailable;
    session.fail(lost ? lost_job(what, done.error()) : done.error());
    return std::nullopt;
  }
  if (done->interrupted && after_cancel == AfterCancel::Leave) {
    session.exit_code = ExitCode::Interrupted;
    return std::nullopt;
  }
  if (const auto* failure = std::get_if<ErrorReply>(&done->reply)) {
    session.fail(*failure);
    if (done->interrupted) session.exit_code = ExitCode::Interrupted;
    if (done->incomplete) session.exit_code = ExitCode::Broken;
    return std::nullopt;
  }
  if (done->interrupted) {
    session.err << "gpuemu: interrupted: not everything ran, this is what was found until then\n";
  }
  if (done->incomplete) tell_incomplete(*done, what, session);
  session.tell_where_kernels_ran();
  return *std::move(done);
}

}  // namespace gpuemu::cli
