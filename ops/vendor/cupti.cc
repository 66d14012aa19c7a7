#include "ops/vendor/cupti.h"

#include <cstdlib>
#include <mutex>

#include <cxxabi.h>

#include "runtime/toolkit/shared_library.h"

namespace gpuemu {
namespace {

const std::string kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
/// Enough for about ten thousand kernels.
constexpr size_t kBufferBytes = size_t{2} << 20;

/// The target of the callbacks, which receive no user pointer.
struct Sink {
  std::mutex mutex;  ///< Guards the members below.
  bool is_open = false;
  cupti::Api api;
  size_t records_max = 0;
  KernelRecorder::Recorded recorded;
};

Sink& sink() {
  static Sink the_one;
  return the_one;
}

Result<cupti::Api> bind(const SharedLibrary& library) {
  cupti::Api api;
  GPUEMU_TRY(library.bind("cuptiActivityRegisterCallbacks", api.register_callbacks));
  GPUEMU_TRY(library.bind("cuptiActivityEnable", api.enable));
  GPUEMU_TRY(library.bind("cuptiActivityDisable", api.disable));
  GPUEMU_TRY(library.bind("cuptiActivityFlushAll", api.flush));
  GPUEMU_TRY(library.bind("cuptiActivityGetNextRecord", api.next_record));
  GPUEMU_TRY(library.bind("cuptiActivityGetNumDroppedRecords", api.dropped));
  GPUEMU_TRY(library.bind("cuptiGetTimestamp", api.timestamp));
  GPUEMU_TRY(library.bind("cuptiGetResultString", api.text_of));
  return api;
}

std::string readable(const char* name) {
  if (name == nullptr) return "unnamed";
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  std::string out = failed == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

KernelRecord record_of(const cupti::KernelActivity& from) {
  KernelRecord record{.name = readable(from.name), .begin_ns = from.start, .end_ns = from.end};
  record.stream = from.stream;
  for (size_t i = 0; i < 3; ++i) {
    record.grid[i] = from.grid[i];
    record.block[i] = from.block[i];
  }
  record.registers = from.registers;
  record.local_bytes = from.local_per_thread;
  record.shared_bytes =
      static_cast<uint64_t>(from.static_shared) + static_cast<uint64_t>(from.dynamic_shared);
  return record;
}

void request_buffer(uint8_t** buffer, size_t* bytes, size_t* records_max) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(cupti::kRecordAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *records_max = 0;  // As many as fit.
}

void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid_bytes) {
  Sink& to = sink();
  const std::lock_guard lock(to.mutex);
  cupti::Activity* activity = nullptr;
  while (to.is_open && to.api.next_record(buffer, valid_bytes, &activity) == cupti::kSuccess) {
    if (activity->kind != cupti::kConcurrentKernel) continue;
    const auto& kernel = *reinterpret_cast<const cupti::KernelActivity*>(activity);
    if (kernel.start == 0 || kernel.end < kernel.start) continue;  // CUPTI lost its time.
    if (to.recorded.kernels.size() < to.records_max) {
      to.recorded.kernels.push_back(record_of(kernel));
    } else {
      ++to.recorded.dropped;
    }
  }
  size_t lost = 0;
  if (to.is_open && to.api.dropped(context, stream, &lost) == cupti::kSuccess) {
    to.recorded.dropped += lost;
  }
  std::free(buffer);
}

Status check(const cupti::Api& api, int code, const char* what) {
  if (code == cupti::kSuccess) return ok_status();
  const char* text = nullptr;
  (void)api.text_of(code, &text);
  return error(ErrorCode::Unavailable, "CUPTI, {}: {} ({})", what,
               text == nullptr ? "unknown error" : text, code);
}

Status claim(const cupti::Api& api, size_t records_max) {
  Sink& to = sink();
  const std::lock_guard lock(to.mutex);
  if (to.is_open) {
    return error(ErrorCode::Unavailable, "another profile of this process records kernels");
  }
  to.is_open = true;
  to.api = api;
  to.records_max = records_max;
  to.recorded = {};
  return ok_status();
}

KernelRecorder::Recorded release() {
  Sink& to = sink();
  const std::lock_guard lock(to.mutex);
  to.is_open = false;
  return std::move(to.recorded);
}

}  // namespace

Result<std::unique_ptr<KernelRecorder>> KernelRecorder::start(size_t records_max,
                                                              const std::string& library) {
  const SharedLibrary found = GPUEMU_TRY(
      library.empty() ? SharedLibrary::open(kNames) : SharedLibrary::open(std::span(&library, 1)));
  const cupti::Api api = GPUEMU_TRY(bind(found));
  GPUEMU_TRY(claim(api, records_max));
  Status started = check(api, api.register_callbacks(request_buffer, take_buffer), "callbacks");
  if (started) started = check(api, api.enable(cupti::kConcurrentKernel), "recording kernels");
  if (!started) {
    (void)release();
    return started.error();
  }
  return std::unique_ptr<KernelRecorder>(new KernelRecorder(api));
}

KernelRecorder::~KernelRecorder() {
  if (!stopped_) (void)stop();
}

uint64_t KernelRecorder::now_ns() const {
  uint64_t ns = 0;
  return api_.timestamp(&ns) == cupti::kSuccess ? ns : 0;
}

Result<KernelRecorder::Recorded> KernelRecorder::stop() {
  if (stopped_) return error(ErrorCode::InvalidArgument, "the recorder was stopped before");
  stopped_ = true;
  const Status flushed = check(api_, api_.flush(cupti::kFlushWhatIsDone), "fetching the records");
  const Status ended = check(api_, api_.disable(cupti::kConcurrentKernel), "ending");
  Recorded recorded = release();
  GPUEMU_TRY(flushed);
  GPUEMU_TRY(ended);
  return recorded;
}

std::string cupti_version() {
  const auto library = SharedLibrary::open(kNames);
  int (*version)(uint32_t* number) = nullptr;
  uint32_t number = 0;
  if (!library || !library->bind("cuptiGetVersion", version) || version(&number) != 0) return {};
  return std::to_string(number);
}

}  // namespace gpuemu
