#include "bindings/libcuda/tracer.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/process.h"
#include "runtime/run_record/run_trace.h"

namespace gpuemu::libcuda {
namespace {

thread_local bool is_in_call = false;

/// Returns "cuMemAlloc" for "cuMemAlloc_v2".
std::string without_version(std::string name) {
  const size_t at = name.rfind("_v");
  if (at != name.npos && at + 3 == name.size()) name.resize(at);
  return name;
}

std::string stream_name(int device, StreamId stream) {
  if (stream == kDefaultStream) return fmt::format("device {}, default stream", device);
  if (stream == kPerThreadStream) return fmt::format("device {}, streams of threads", device);
  return fmt::format("device {}, stream {}", device, stream);
}

}  // namespace

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void Tracer::start(const Settings& settings) {
  if (!settings.trace || settings.folder.empty()) return;
  const std::string name = trace_file_name(settings.folder, getpid());
  const std::lock_guard lock(mutex_);
  file_ = std::fopen(name.c_str(), "ae");
  if (file_ == nullptr) {
    say_once("trace", fmt::format("cannot write {}: {}; the trace lacks process {}", name,
                                  std::strerror(errno), getpid()));
    return;
  }
  is_on_ = true;
}

void Tracer::write(uint64_t row, const std::string& row_name, const std::string& line) {
  const std::lock_guard lock(mutex_);
  std::string text = line;
  if (rows_.insert(row).second) text = encode_line(RunTraceRow{getpid(), row, row_name}) + line;
  // Written immediately, so that a crash loses nothing.
  const bool is_written =
      std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
  if (is_written) return;
  say_once("trace", fmt::format("cannot write the trace of process {}: {}; it is incomplete",
                                getpid(), std::strerror(errno)));
  is_on_ = false;
}

void Tracer::call(const char* name, uint64_t begin_ns, uint64_t end_ns) {
  const auto thread = static_cast<uint64_t>(::gettid());
  write(
      thread,
      thread == static_cast<uint64_t>(getpid()) ? "main thread" : fmt::format("thread {}", thread),
      encode_line(
          RunTraceEvent{without_version(name), "call", getpid(), thread, begin_ns, end_ns, 0}));
}

void Tracer::kernel(const std::string& entry, int device, StreamId stream,
                    const LaunchReport& report) {
  if (!is_on_) return;
  // Thread ids are smaller.
  constexpr uint64_t kRowsOfDevice = uint64_t{1} << 40;
  const uint64_t row = kRowsOfDevice * (static_cast<uint64_t>(device) + 1) + stream;
  const uint64_t end = now_ns();
  write(row, stream_name(device, stream),
        encode_line(RunTraceEvent{demangled(entry), "kernel", getpid(), row,
                                  end - std::min(end, report.elapsed_ns), end,
                                  report.thread_instructions}));
}

CallScope::CallScope(const char* name) {
  const Process* const driver = process();
  if (driver == nullptr || !driver->tracer.is_on() || is_in_call) return;
  is_in_call = true;
  name_ = name;
  begin_ns_ = now_ns();
}

CallScope::~CallScope() {
  if (name_ == nullptr) return;
  is_in_call = false;
  process()->tracer.call(name_, begin_ns_, now_ns());
}

}  // namespace gpuemu::libcuda
