// Progress, log and cancellation of running work.
#include <utility>

#include "common/base/text.h"
#include "daemon/server/job_table.h"

namespace gpuemu {
namespace {

// Lines of a job's log: the first failures are enough, all of them are stored.
constexpr size_t kLogLinesMax = 1000;
// Failed cases kept for a client, which fetches them several times a second.
constexpr size_t kFailuresHeldMax = 1024;
// Interval between progress lines about compiling, which leave room for failures.
constexpr std::chrono::milliseconds kCompilingTold{500};
constexpr size_t kCompilingLinesMax = kLogLinesMax / 2;

const char* name_of(JobStop why) {
  switch (why) {
    case JobStop::DaemonStops:
      return "the daemon was stopped";
    case JobStop::Abandoned:
      return "its client stopped asking for the run";
    case JobStop::SessionEnded:
      return "its session ended";
    default:
      return "the run was cancelled";
  }
}

}  // namespace

void JobControl::stop(JobStop why, const std::string& limit) {
  JobStop none = JobStop::None;
  const std::lock_guard lock(mutex_);
  if (stop_.compare_exchange_strong(none, why)) limit_ = limit;
  cancel = true;
}

std::string JobControl::incomplete() const {
  if (!cancel) return "";
  if (is_limited()) {
    const std::lock_guard lock(mutex_);
    return limit_;
  }
  if (is_stopped() && total > 0) {
    return fmt::format("{}; {} of {} had run", name_of(stop_.load()), done.load(),
                       counted(total.load(), "case"));
  }
  return total == 0 ? fmt::format("{} before its work began", name_of(stop_.load()))
                    : fmt::format("{} after {} of {}", name_of(stop_.load()), done.load(),
                                  counted(total.load(), "step"));
}

void JobControl::failed(std::string line) {
  ++failures;
  const std::lock_guard lock(mutex_);
  add_line({.kind = JobLineKind::Failure, .text = std::move(line)});
}

void JobControl::failed(std::string line, const ValidationResult& result) {
  failed(std::move(line));
  JobEvent event{.op_name = result.op_name, .dtype = {}, .failure = result, .report = {}};
  if (event.failure->repro_info) event.failure->repro_info->input_snapshot.reset();
  const std::lock_guard lock(mutex_);
  if (events_.size() < kFailuresHeldMax) add_event(std::move(event));
}

void JobControl::op_started(const std::string& op_name, DType dtype) {
  const std::lock_guard lock(mutex_);
  add_event({.op_name = op_name, .dtype = dtype, .failure = {}, .report = {}});
}

void JobControl::op_finished(const OpTestReport& report) {
  OpTestReport counts = report;
  counts.failures.clear();
  counts.warnings.clear();
  const std::lock_guard lock(mutex_);
  add_event({.op_name = report.op_name,
             .dtype = report.dtype,
             .failure = {},
             .report = std::move(counts)});
}

void JobControl::add_line(JobLine line) {
  if (log_.size() < kLogLinesMax) log_.push_back(std::move(line));
}

void JobControl::add_event(JobEvent event) {
  if (events_wanted_) events_.push_back(std::move(event));
}

std::vector<JobEvent> JobControl::events(uint64_t from) {
  const std::lock_guard lock(mutex_);
  for (; events_gone_ < from && !events_.empty(); ++events_gone_) events_.pop_front();
  return {events_.begin(), events_.end()};
}

void JobControl::forget_events() {
  const std::lock_guard lock(mutex_);
  events_wanted_ = false;
  events_.clear();
}

void JobControl::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  add_line({.kind = JobLineKind::Warning, .text = text});
}

void JobControl::compiling(size_t ready, size_t wanted) {
  const std::lock_guard lock(mutex_);
  compiling_.reset();
  if (ready >= wanted) return;
  compiling_ = {.kind = JobLineKind::Compiling,
                .text = fmt::format("compiling {} of {} kernels", ready + 1, wanted),
                .done = ready,
                .total = wanted};
}

std::vector<JobLine> JobControl::lines(uint64_t from) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const bool told = now < told_ + kCompilingTold || log_.size() >= kCompilingLinesMax;
  if (compiling_ && !told) {
    log_.push_back(*std::exchange(compiling_, std::nullopt));
    told_ = now;
  }
  if (from >= log_.size()) return {};
  return {log_.begin() + static_cast<std::ptrdiff_t>(from), log_.end()};
}

}  // namespace gpuemu
