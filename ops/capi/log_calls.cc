// C interface: logs of calls.
#include <unistd.h>

#include "ops/capi/context.h"
#include "ops/capi/json_text.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace gpuemu::opcall {
uint64_t LogBook::start(bool times, uint32_t records_max) {
  const std::lock_guard lock(mutex_);
  logs_[next_log_] = {.times = times, .records_max = records_max};
  return next_log_++;
}

bool LogBook::stop(uint64_t log) {
  const std::lock_guard lock(mutex_);
  return logs_.erase(log) > 0;
}

std::string LogBook::json(uint64_t log) const {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(log);
  if (found == logs_.end()) return {};
  const Log& kept = found->second;
  return calls_json(kept.calls, kept.times, kept.dropped);
}

void LogBook::set_callback(std::function<void(const DispatchRecord& record)> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

bool LogBook::wants_records() const {
  const std::lock_guard lock(mutex_);
  return callback_ != nullptr || !logs_.empty();
}

bool LogBook::wants_times() const {
  const std::lock_guard lock(mutex_);
  const auto has_times = [](const auto& one) { return one.second.times; };
  return callback_ != nullptr || std::ranges::any_of(logs_, has_times);
}

void LogBook::tell(const DispatchRecord& record) {
  std::function<void(const DispatchRecord&)> callback;
  {
    const std::lock_guard lock(mutex_);
    callback = callback_;
    const LoggedCall call{next_sequence_++, static_cast<uint64_t>(gettid()), record};
    for (auto& [number, log] : logs_) {
      if (log.calls.size() < log.records_max) {
        log.calls.push_back(call);
      } else {
        ++log.dropped;
      }
    }
  }
  if (callback) callback(record);  // It may call anything, so no lock is held.
}

namespace {

/// Enables the dispatcher's records if any log or callback is active.
void listen(gpuemu_context& context) {
  // The listeners and the dispatcher's log change together.
  const std::lock_guard lock(context.logs.listening);
  if (!context.logs.wants_records()) {
    context.dispatcher->set_log({});
    return;
  }
  LogBook* const logs = &context.logs;
  context.dispatcher->set_log([logs](const DispatchRecord& record) { logs->tell(record); },
                              logs->wants_times());
}

gpuemu_code unknown_log(gpuemu_log log) {
  return answer(
      error(ErrorCode::InvalidArgument, "no log {}: it was stopped, or it never was", log));
}

}  // namespace
}  // namespace gpuemu::opcall

extern "C" {

gpuemu_code gpuemu_context_set_log(gpuemu_context* context,
                                   void (*log)(void* user, const char* line), void* user) {
  if (!is_usable(context)) return refuse(context);
  if (log == nullptr) {
    context->logs.set_callback({});
  } else {
    context->logs.set_callback([log, user](const gpuemu::DispatchRecord& record) {
      const std::string time =
          record.microseconds < 0 ? "captured" : fmt::format("{:.1f} us", record.microseconds);
      const std::string line = fmt::format("{}: {}, {}; {}; {}; {}", record.op, record.variant,
                                           record.why, record.shapes, record.dtypes, time);
      log(user, line.c_str());
    });
  }
  gpuemu::opcall::listen(*context);
  return GPUEMU_OK;
}

gpuemu_code gpuemu_log_start(gpuemu_context* context, uint32_t times, uint32_t records_max,
                             gpuemu_log* log) {
  if (!is_usable(context)) return refuse(context);
  if (log == nullptr) return missing("log");
  *log = context->logs.start(times != 0, records_max);
  gpuemu::opcall::listen(*context);
  return GPUEMU_OK;
}

gpuemu_code gpuemu_log_json(gpuemu_context* context, gpuemu_log log, char* to, size_t room,
                            size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  const std::string text = context->logs.json(log);
  if (text.empty()) return gpuemu::opcall::unknown_log(log);
  return gpuemu::opcall::give_text(text, to, room, bytes);
}

gpuemu_code gpuemu_log_stop(gpuemu_context* context, gpuemu_log log) {
  if (!is_usable(context)) return refuse(context);
  if (!context->logs.stop(log)) return gpuemu::opcall::unknown_log(log);
  gpuemu::opcall::listen(*context);
  return GPUEMU_OK;
}

}  // extern "C"
