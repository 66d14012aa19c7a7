#include "bindings/libcuda/process.h"

#include <cstdio>
#include <utility>

#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include "runtime/emulator/emulator.h"

namespace gpuemu::libcuda {
namespace {

std::atomic<Process*> the_process = nullptr;
std::atomic<bool> is_forked_child = false;
thread_local std::vector<Context> contexts_of_thread;
thread_local bool per_thread = false;

/// Disables the devices in a child of fork, because their worker threads exist only in the parent.
void leave_child() { is_forked_child = true; }
/// Restores protected pages, which the child could not.
void before_fork() {
  if (Process* const driver = process()) driver->host_pages.give_back();
}

int code_of_kind(DeviceFindingKind kind) {
  switch (kind) {
    case DeviceFindingKind::Misaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case DeviceFindingKind::Assert:
      return CUDA_ERROR_ASSERT;
    case DeviceFindingKind::Trap:
    case DeviceFindingKind::UnsupportedInstruction:
      return CUDA_ERROR_LAUNCH_FAILED;
    case DeviceFindingKind::Timeout:
    case DeviceFindingKind::Deadlock:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case DeviceFindingKind::OutOfBounds:
    case DeviceFindingKind::StackOverflow:
    case DeviceFindingKind::IllegalAddress:
    case DeviceFindingKind::InvalidFree:
    case DeviceFindingKind::InvalidTexture:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    default:
      return CUDA_SUCCESS;
  }
}

void launch_ended(DeviceSlot& slot, Process& driver, uint64_t tag, const std::string& entry,
                  const LaunchReport& report) {
  const int device = slot.device->properties().index;
  const StreamId stream = driver.recorder.launch_ended(device, tag, report);
  driver.tracer.kernel(entry, device, stream, report);
  {
    const std::lock_guard lock(driver.listening_mutex);
    driver.listening.erase(tag);
  }
  driver.times.add(entry, report.elapsed_ns);
  driver.forms.ended(entry, slot.device->properties().sm, report);
  const std::lock_guard lock(slot.mutex);
  for (const std::string& line : report.printed) slot.printed += line + '\n';
  for (const DeviceFinding& finding : report.findings) {
    const int code = code_of_kind(finding.kind);
    if (code == CUDA_SUCCESS) continue;
    slot.faults.push_back({stream, code});
    break;
  }
}

void launch_failed(Process& driver, uint64_t tag, const std::string& entry, const Error& why) {
  driver.recorder.launch_failed(tag, entry, why);
  driver.races.launch_refused(tag);
  const std::lock_guard lock(driver.listening_mutex);
  driver.listening.erase(tag);
}

/// Reports the program's own access to memory of a device, which ends the process.
void note_host_access(Process& driver, uint64_t address, bool writes) {
  auto of = driver.allocations.holding(address);
  if (of == nullptr) of = driver.allocations.freed_holding(address);
  const std::string what =
      of == nullptr ? "no allocation holds"
                    : fmt::format("{} '{}'", of->freed == nullptr ? "is in" : "was in", of->name);
  driver.recorder.host_finding(
      of != nullptr && of->freed != nullptr ? kRunUseAfterFree : "OutOfBounds",
      fmt::format(
          "the host {} memory of the device at address {:#x}, which {}: copy it (cuMemcpy), "
          "or allocate pinned or managed memory",
          writes ? "writes" : "reads", address, what),
      kHostAccess, of.get(), of == nullptr ? 0 : static_cast<int64_t>(address - of->address));
}

void follow_host_in(Process& driver) {
  driver.host_pages.start(
      [&driver](uint64_t address, bool writes) {
        if (process() != nullptr) {
          driver.races.host_accesses(address, writes, running_host_function());
        }
      },
      [&driver](uint64_t address) {
        const auto in = driver.allocations.holding(address);
        return in != nullptr && is_host(in->kind);
      },
      [&driver](uint64_t address, bool writes) {
        if (process() != nullptr) note_host_access(driver, address, writes);
      });
}

Result<std::unique_ptr<DeviceSlot>> open(Process& driver, size_t index) {
  const RunDevice& setting = driver.settings.devices[index];
  EmulatorOptions options;
  options.index = static_cast<int>(index);
  options.sm = setting.sm;
  options.memory_limit_bytes = setting.memory_bytes;
  options.schedule_seed = driver.settings.schedule_seed;
  options.red_zone_bytes = uint64_t{64} << 10;
  options.freed_bytes_kept = uint64_t{256} << 20;
  auto slot = std::make_unique<DeviceSlot>();
  slot->device = make_emulator(options);
  slot->streams = GPUEMU_TRY(slot->device->streams());
  StreamChecks checks;
  checks.sanitize = driver.settings.checks;
  checks.timeout_ms = driver.settings.launch_timeout_ms;
  checks.timeout_restarts = driver.settings.launch_timeout_restarts;
  checks.profile = driver.settings.count_forms;
  checks.defers_undefined = true;
  checks.observer = [&driver, at = slot.get()](uint64_t tag, const std::string& entry,
                                               const LaunchReport& report) {
    launch_ended(*at, driver, tag, entry, report);
  };
  checks.failed = [&driver](uint64_t tag, const std::string& entry, const Error& why) {
    launch_failed(driver, tag, entry, why);
  };
  checks.touched = [&driver](uint64_t tag, TouchedMemory memory) {
    driver.races.launch_touched(tag, std::move(memory));
  };
  checks.wants_touched = [&driver](uint64_t tag) { return driver.races.wants(tag); };
  slot->streams->set_checks(std::move(checks));
  auto pool = std::make_shared<PoolState>();
  pool->device = static_cast<int>(index);
  pool->is_default = true;
  slot->default_pool = driver.pools.add(std::move(pool));
  slot->pool = slot->default_pool;
  return slot;
}

}  // namespace

Process* process() { return is_forked_child ? nullptr : the_process.load(); }

int start_process() {
  static std::mutex starting;
  const std::lock_guard lock(starting);
  if (is_forked_child) return CUDA_ERROR_NOT_INITIALIZED;
  if (the_process != nullptr) return CUDA_SUCCESS;
  auto made = std::make_unique<Process>();
  const Result<Settings>& settings = settings_of_environment();
  if (!settings) {
    say_once("settings", "cannot start: the settings of gpuemu run are unreadable: " +
                             settings.error().message);
    return CUDA_ERROR_INVALID_VALUE;
  }
  made->settings = *settings;
  if (made->settings.devices.empty()) return CUDA_ERROR_NO_DEVICE;
  made->recorder.start(made->settings, &made->allocations);
  made->tracer.start(made->settings);
  made->forms.start(made->settings);
  made->races.start(made->settings.streams, &made->recorder, &made->allocations);
  follow_host_in(*made);
  for (size_t i = 0; i < made->settings.devices.size(); ++i) {
    auto slot = open(*made, i);
    if (!slot) {
      say_once("device", fmt::format("cannot start device {}: {}", i, slot.error().message));
      return CUDA_ERROR_UNKNOWN;
    }
    made->devices.push_back(std::move(*slot));
  }
  pthread_atfork(before_fork, nullptr, leave_child);
  the_process = made.release();
  return CUDA_SUCCESS;
}

std::vector<Context>& context_stack() { return contexts_of_thread; }

Context current_context() {
  return contexts_of_thread.empty() ? nullptr : contexts_of_thread.back();
}

PerThreadScope::PerThreadScope() { per_thread = true; }
PerThreadScope::~PerThreadScope() { per_thread = false; }
bool is_per_thread() { return per_thread; }

Place current_place() { return place_of(nullptr); }

Place place_of(Stream stream) {
  Process& driver = *process();
  Place place;
  place.context = current_context();
  const auto number = reinterpret_cast<uintptr_t>(stream);
  if (number > kStreamPerThread) {
    place.state = driver.streams.find(stream);
    if (place.state == nullptr) {
      place.code = CUDA_ERROR_INVALID_HANDLE;
      return place;
    }
    place.context = place.state->context;
    place.stream = place.state->id;
  } else if (number == kStreamPerThread || (number == 0 && per_thread)) {
    place.stream = kPerThreadStream;
  }
  const auto context = driver.contexts.find(place.context);
  if (context == nullptr) {
    place.code =
        place.context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return place;
  }
  place.device = context->device;
  place.slot = driver.devices[static_cast<size_t>(context->device)].get();
  if (driver.settings.on_finding == OnFinding::Sticky) {
    const std::lock_guard lock(place.slot->mutex);
    place.code = place.slot->lost;
  }
  return place;
}

Line line_of(const Place& place) {
  if (place.stream != kPerThreadStream) return {place.device, place.stream};
  // Ids of streams created by the program are smaller.
  constexpr uint64_t kOfThreads = uint64_t{1} << 63;
  static std::atomic<uint64_t> next = kOfThreads;
  thread_local const uint64_t own = [] {
    process()->races.thread_stream_made();
    return next.fetch_add(1);
  }();
  return {place.device, own};
}

int code_of(const Error& failure) {
  switch (failure.code) {
    case ErrorCode::InvalidArgument:
      return CUDA_ERROR_INVALID_VALUE;
    case ErrorCode::NotFound:
      return CUDA_ERROR_NOT_FOUND;
    case ErrorCode::ResourceExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case ErrorCode::Unsupported:
      return CUDA_ERROR_NOT_SUPPORTED;
    case ErrorCode::Compile:
      return CUDA_ERROR_INVALID_PTX;
    case ErrorCode::Timeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ErrorCode::Launch:
      return CUDA_ERROR_LAUNCH_FAILED;
    case ErrorCode::Unavailable:
    case ErrorCode::Corruption:
    case ErrorCode::Io:
    case ErrorCode::Cancelled:
    case ErrorCode::Internal:
      return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

int take_fault(DeviceSlot& slot, std::optional<StreamId> stream) {
  const OnFinding answer = process()->settings.on_finding;
  std::string printed;
  int code = CUDA_SUCCESS;
  {
    const std::lock_guard lock(slot.mutex);
    printed.swap(slot.printed);
    if (slot.lost != CUDA_SUCCESS) code = slot.lost;
    for (auto fault = slot.faults.begin(); fault != slot.faults.end(); ++fault) {
      if (stream && *stream != kDefaultStream && fault->stream != *stream) continue;
      if (code == CUDA_SUCCESS) code = fault->code;
      slot.faults.erase(fault);
      break;
    }
    if (answer == OnFinding::Ignore) code = CUDA_SUCCESS;
    if (answer == OnFinding::Sticky) slot.lost = code;
  }
  if (!printed.empty()) {
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    std::fflush(stdout);
  }
  return code;
}

void say_once(const std::string& key, const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(key).second) std::fprintf(stderr, "gpuemu: %s\n", text.c_str());
}

int unsupported_call(const char* name) {
  say_once(name, std::string(name) + " is not supported");
  if (Process* const driver = process()) driver->recorder.unsupported(name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

namespace {
thread_local bool is_called_by_stream = false;
}  // namespace

CalledByStream::CalledByStream() : before_(std::exchange(is_called_by_stream, true)) {}
CalledByStream::~CalledByStream() { is_called_by_stream = before_; }

int refuse_in_host_function(const char* name) {
  if (!is_called_by_stream) return CUDA_SUCCESS;
  say_once(std::string(name) + " in a host function",
           std::string(name) +
               " was called by a host function of a stream, which must not call "
               "CUDA; it returns error 800, CUDA_ERROR_NOT_PERMITTED");
  return CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace gpuemu::libcuda
