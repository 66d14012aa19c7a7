#include "runtime/cuda/streams.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "common/base/limits.h"
#include "runtime/device/fault.h"
#include "runtime/device/launch_check.h"

namespace gpuemu::cuda {
namespace {

template <typename Handle>
uint64_t id_of(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

/// Argument lists up to this size are on the stack.
constexpr size_t kArgsUsual = 64;

void call_and_free(void* work) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
  (*owned)();
}

void call(void* work) { (*static_cast<std::function<void()>*>(work))(); }

}  // namespace

Status CudaStreams::use_handle(const Handles& handles, uint64_t handle, const char* what) {
  {
    const std::shared_lock lock(mutex_);
    if (!handles.contains(handle)) {
      return error(ErrorCode::InvalidArgument,
                   "no {} {:#x} of this device: it was never made, is freed, or belongs to another "
                   "device or context",
                   what, handle);
    }
  }
  return device_.ready();
}

Status CudaStreams::forget_handle(Handles& handles, uint64_t handle, const char* what) {
  GPUEMU_TRY(use_handle(handles, handle, what));
  const std::lock_guard lock(mutex_);
  handles.erase(handle);
  return {};
}

Result<Stream> CudaStreams::use(StreamId stream) {
  if (stream == kDefaultStream || stream == kPerThreadStream) {
    GPUEMU_TRY(device_.ready());
  } else {
    GPUEMU_TRY(use_handle(streams_, stream, "stream"));
  }
  return reinterpret_cast<Stream>(stream);
}

Result<Event> CudaStreams::use_event(EventId event) {
  GPUEMU_TRY(use_handle(events_, event, "event"));
  return reinterpret_cast<Event>(event);
}

PriorityRange CudaStreams::priorities() const {
  PriorityRange range;
  if (device_.ready()) driver_.cuCtxGetStreamPriorityRange(&range.least, &range.greatest);
  return range;
}

Result<StreamId> CudaStreams::make_stream(const StreamOptions& options) {
  GPUEMU_TRY(device_.ready());
  Stream made = nullptr;
  const unsigned flags = options.non_blocking ? kNonBlocking : 0;
  GPUEMU_TRY(device_.check(driver_.cuStreamCreateWithPriority(&made, flags, options.priority),
                           "making a stream"));
  const std::lock_guard lock(mutex_);
  streams_.insert(id_of(made));
  return id_of(made);
}

Status CudaStreams::free_stream(StreamId stream) {
  if (stream == kDefaultStream || stream == kPerThreadStream) {
    return error(ErrorCode::InvalidArgument, "stream {} always exists and is not freed", stream);
  }
  if (GPUEMU_TRY(is_capturing(stream))) {
    return error(ErrorCode::InvalidArgument, "stream {:#x} is captured; end the capture first",
                 stream);
  }
  GPUEMU_TRY(forget_handle(streams_, stream, "stream"));
  ++generation_;
  {
    const std::lock_guard lock(order_mutex_);
    orders_.erase(reinterpret_cast<Stream>(stream));
  }
  {
    const std::lock_guard lock(mutex_);
    last_.erase(stream);
    if (foreign_.erase(stream) != 0) return {};
  }
  return device_.check(driver_.cuStreamDestroy_v2(reinterpret_cast<Stream>(stream)),
                       "freeing a stream");
}

Status CudaStreams::waited(int code, StreamId stream) {
  if (code == kSuccess) return {};
  std::optional<LaunchShape> shape;
  std::string entry;
  if (const std::shared_ptr<Last> last = last_of(stream)) {
    const std::lock_guard lock(last->mutex);
    if (last->function != nullptr) {
      shape = last->shape;
      entry = last->function->entry.info.name;
    }
  }
  const auto finding = device_.lose(code, entry);
  if (!finding) return device_.check(code, "waiting");
  {
    const std::lock_guard lock(findings_mutex_);
    if (findings_.size() < kFindingsMax) findings_.push_back(*finding);
  }
  if (!shape) {
    return error(ErrorCode::Launch, "a kernel of another stream ended with {}", finding->message);
  }
  return launch_error(*shape, *finding);
}

Status CudaStreams::synchronize(StreamId stream) {
  const Stream handle = GPUEMU_TRY(use(stream));
  return waited(driver_.cuStreamSynchronize(handle), stream);
}

Status CudaStreams::synchronize_all() {
  GPUEMU_TRY(device_.ready());
  const int code = driver_.cuCtxSynchronize();
  StreamId any = kDefaultStream;
  {
    const std::shared_lock lock(mutex_);
    if (!last_.contains(any) && !last_.empty()) any = last_.begin()->first;
  }
  return waited(code, any);
}

Result<bool> CudaStreams::query(StreamId stream) {
  const Stream handle = GPUEMU_TRY(use(stream));
  const int code = driver_.cuStreamQuery(handle);
  if (code == kNotReady) return false;
  GPUEMU_TRY(waited(code, stream));
  return true;
}

Result<EventId> CudaStreams::make_event() {
  GPUEMU_TRY(device_.ready());
  Event made = nullptr;
  GPUEMU_TRY(device_.check(driver_.cuEventCreate(&made, 0), "making an event"));
  const std::lock_guard lock(mutex_);
  events_.insert(id_of(made));
  return id_of(made);
}

Status CudaStreams::free_event(EventId event) {
  GPUEMU_TRY(forget_handle(events_, event, "event"));
  return device_.check(driver_.cuEventDestroy_v2(reinterpret_cast<Event>(event)),
                       "freeing an event");
}

Status CudaStreams::record(EventId event, StreamId stream) {
  const Event mark = GPUEMU_TRY(use_event(event));
  const Stream handle = GPUEMU_TRY(use(stream));
  return device_.check(driver_.cuEventRecord(mark, handle), "recording an event");
}

Status CudaStreams::wait_event(StreamId stream, EventId event) {
  const Event mark = GPUEMU_TRY(use_event(event));
  const Stream handle = GPUEMU_TRY(use(stream));
  return device_.check(driver_.cuStreamWaitEvent(handle, mark, 0), "waiting for an event");
}

Status CudaStreams::synchronize_event(EventId event) {
  const Event mark = GPUEMU_TRY(use_event(event));
  return device_.check(driver_.cuEventSynchronize(mark), "waiting for an event");
}

Result<bool> CudaStreams::query_event(EventId event) {
  const Event mark = GPUEMU_TRY(use_event(event));
  const int code = driver_.cuEventQuery(mark);
  if (code == kNotReady) return false;
  GPUEMU_TRY(device_.check(code, "asking an event"));
  return true;
}

Result<float> CudaStreams::elapsed_ms(EventId from, EventId to) {
  const Event begin = GPUEMU_TRY(use_event(from));
  const Event end = GPUEMU_TRY(use_event(to));
  float milliseconds = 0;
  const int code = driver_.cuEventElapsedTime(&milliseconds, begin, end);
  if (code == kNotReady || code == kInvalidHandle) {
    return error(ErrorCode::InvalidArgument,
                 "event {:#x} or {:#x} is not {} yet; record them and synchronize before asking "
                 "for the time",
                 from, to, code == kNotReady ? "reached" : "recorded");
  }
  GPUEMU_TRY(device_.check(code, "reading the clock"));
  return milliseconds;
}

Status CudaStreams::upload(StreamId stream, uint64_t address, std::span<const std::byte> from) {
  const Stream handle = GPUEMU_TRY(use(stream));
  GPUEMU_TRY(device_.check_range(address, from.size()));
  if (from.empty()) return {};
  return device_.check(driver_.cuMemcpyHtoDAsync_v2(address, from.data(), from.size(), handle),
                       "uploading");
}

Status CudaStreams::download(StreamId stream, std::span<std::byte> to, uint64_t address,
                             const UndefinedCopied&) {
  const Stream handle = GPUEMU_TRY(use(stream));
  GPUEMU_TRY(device_.check_range(address, to.size()));
  if (to.empty()) return {};
  return device_.check(driver_.cuMemcpyDtoHAsync_v2(to.data(), address, to.size(), handle),
                       "downloading");
}

Status CudaStreams::copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
                         const UndefinedCopied&) {
  const Stream handle = GPUEMU_TRY(use(stream));
  GPUEMU_TRY(device_.check_range(to, bytes));
  GPUEMU_TRY(device_.check_range(from, bytes));
  if (bytes == 0) return {};
  return device_.check(driver_.cuMemcpyDtoDAsync_v2(to, from, bytes, handle), "copying");
}

Status CudaStreams::fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) {
  const Stream handle = GPUEMU_TRY(use(stream));
  GPUEMU_TRY(device_.check_range(address, bytes));
  if (bytes == 0) return {};
  const auto byte = std::to_integer<unsigned char>(value);
  return device_.check(driver_.cuMemsetD8Async(address, byte, bytes, handle), "filling");
}

Status CudaStreams::host_call(StreamId stream, std::function<void()> work) {
  const Stream handle = GPUEMU_TRY(use(stream));
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  if (GPUEMU_TRY(is_capturing(stream))) {
    GPUEMU_TRY(
        device_.check(driver_.cuLaunchHostFunc(handle, call, owned.get()), "calling the host"));
    const std::lock_guard lock(mutex_);
    captured_calls_.push_back(std::move(owned));
    return {};
  }
  GPUEMU_TRY(device_.check(driver_.cuLaunchHostFunc(handle, call_and_free, owned.get()),
                           "calling the host"));
  (void)owned.release();
  return {};
}

Result<FunctionId> CudaStreams::function(ModuleId module, const std::string& entry) {
  GPUEMU_TRY(device_.ready());
  Known made{module, GPUEMU_TRY(device_.find_entry_of(module, entry))};
  const std::lock_guard lock(mutex_);
  for (const auto& [id, known] : functions_) {
    if (known->module == module && known->entry.info.name == entry) return id;
  }
  functions_[next_function_] = std::make_shared<const Known>(std::move(made));
  return next_function_++;
}

void CudaStreams::forget(ModuleId module) {
  const std::lock_guard lock(mutex_);
  ++generation_;
  std::erase_if(functions_, [&](const auto& pair) { return pair.second->module == module; });
}

Result<CudaStreams::Memo> CudaStreams::checked(StreamId stream, const StreamLaunch& launch) {
  Memo made;
  made.generation = generation_;  // Before the look-ups, whose results a change makes invalid.
  made.stream = stream;
  GPUEMU_TRY(use(stream));
  {
    const std::shared_lock lock(mutex_);
    const auto found = functions_.find(launch.function);
    if (found != functions_.end()) made.function = found->second;
    const auto last = last_.find(stream);
    if (last != last_.end()) made.last = last->second;
  }
  if (made.function == nullptr) {
    return error(ErrorCode::NotFound, "no function {}: its module is unloaded, or it never was",
                 launch.function);
  }
  if (made.last == nullptr) {
    const std::lock_guard lock(mutex_);
    made.last = last_.try_emplace(stream, std::make_shared<Last>()).first->second;
  }
  const EntryInfo& entry = made.function->entry.info;
  GPUEMU_TRY(check_argument_count(entry, launch.args.size()));
  GPUEMU_TRY(check_shape(entry, launch, device_.properties()));
  for (size_t i = 0; i < launch.args.size(); ++i) {
    GPUEMU_TRY(check_argument(entry, i, launch.args[i].bytes));
  }
  // More shared memory has to be asked for at each launch, as launches of other sizes change it.
  KernelNode described;
  made.is_plain = launch.dynamic_shared_bytes <= kSharedWithoutOptin &&
                  GPUEMU_TRY(device_.is_plain(made.function->entry, launch, described));
  return made;
}

Status CudaStreams::launch(StreamId stream, const StreamLaunch& launch) {
  Memo* known = launch.memo == nullptr ? nullptr : static_cast<Memo*>(launch.memo->get());
  if (known != nullptr && known->stream == stream && known->generation == generation_) {
    GPUEMU_TRY(device_.ready());
    return issue(*known, launch);
  }
  Memo made = GPUEMU_TRY(checked(stream, launch));
  if (launch.memo == nullptr) return issue(made, launch);
  if (known == nullptr) {
    *launch.memo = std::make_unique<Memo>(std::move(made));
    known = static_cast<Memo*>(launch.memo->get());
  } else {
    *known = std::move(made);
  }
  return issue(*known, launch);
}

Status CudaStreams::issue(const Memo& memo, const StreamLaunch& launch) {
  const Known& known = *memo.function;
  const auto handle = reinterpret_cast<Stream>(memo.stream);
  std::array<void*, kArgsUsual> usual;
  std::vector<void*> many;
  if (launch.args.size() > kArgsUsual) many.resize(launch.args.size());
  void** const arguments = many.empty() ? usual.data() : many.data();
  for (size_t i = 0; i < launch.args.size(); ++i) {
    arguments[i] = const_cast<void*>(launch.args[i].data);  // The driver only reads it.
  }
  int code = kNotReady;
  if (is_capturing_ && !launch.accesses.empty()) {
    code = GPUEMU_TRY(add_to_capture(handle, known, launch, arguments));
  }
  if (code == kNotReady && memo.is_plain) {
    code = driver_.cuLaunchKernel(known.entry.handle, launch.grid.x, launch.grid.y, launch.grid.z,
                                  launch.block.x, launch.block.y, launch.block.z,
                                  launch.dynamic_shared_bytes, handle, arguments, nullptr);
  } else if (code == kNotReady) {
    code = GPUEMU_TRY(device_.launch_on(handle, known.entry, launch, arguments));
  }
  if (code != kSuccess) {
    GPUEMU_TRY(CudaDevice::refusal(code, known.entry.info.name, launch));
    GPUEMU_TRY(device_.check(code, "launching"));
  }
  const std::lock_guard lock(memo.last->mutex);
  if (memo.last->function != memo.function) memo.last->function = memo.function;
  memo.last->shape = launch;
  return {};
}

std::shared_ptr<CudaStreams::Last> CudaStreams::last_of(StreamId stream) {
  const std::shared_lock lock(mutex_);
  const auto found = last_.find(stream);
  return found == last_.end() ? nullptr : found->second;
}

Result<int> CudaStreams::add_to_capture(Stream stream, const Known& known,
                                        const StreamLaunch& launch, void** arguments) {
  if (driver_.cuStreamGetCaptureInfo_v2 == nullptr ||
      driver_.cuStreamUpdateCaptureDependencies == nullptr || stream == nullptr) {
    return kNotReady;
  }
  KernelNode described;
  if (!GPUEMU_TRY(device_.is_plain(known.entry, launch, described))) return kNotReady;
  described.arguments = arguments;
  // Nodes and dependencies are only added, so dependencies that another thread or library captures
  // meanwhile are kept.
  const std::lock_guard lock(order_mutex_);
  int state = 0;
  uint64_t capture = 0;
  Graph graph = nullptr;
  void* const* now = nullptr;
  size_t count = 0;
  const int told =
      driver_.cuStreamGetCaptureInfo_v2(stream, &state, &capture, &graph, &now, &count);
  if (told != kSuccess || state != kCaptureActive) return kNotReady;
  CaptureOrder& order = orders_[stream];
  order.begin(capture, {now, count});
  if (order.is_full()) return kNotReady;
  const std::vector<void*> before = order.before(launch.accesses);
  void* node = nullptr;
  const int added =
      driver_.cuGraphAddKernelNode(&node, graph, before.data(), before.size(), &described);
  if (added != kSuccess) return added;
  order.add(node, launch.accesses);
  return driver_.cuStreamUpdateCaptureDependencies(stream, &node, 1, kAddDependencies);
}

std::vector<DeviceFinding> CudaStreams::take_findings() {
  const std::lock_guard lock(findings_mutex_);
  return std::exchange(findings_, {});
}

Status CudaStreams::begin_capture(StreamId stream) {
  if (stream == kDefaultStream) {
    return error(ErrorCode::InvalidArgument,
                 "the default stream cannot be captured; make a stream for it");
  }
  const Stream handle = GPUEMU_TRY(use(stream));
  GPUEMU_TRY(device_.check(driver_.cuStreamBeginCapture_v2(handle, kCaptureRelaxed),
                           "beginning a capture"));
  const std::lock_guard lock(mutex_);
  captured_.insert(stream);
  is_capturing_ = true;
  return ok_status();
}

Result<GraphId> CudaStreams::end_capture(StreamId stream) {
  const Stream handle = GPUEMU_TRY(use(stream));
  if (!GPUEMU_TRY(is_capturing(stream))) {
    return error(ErrorCode::InvalidArgument, "stream {:#x} is not captured", stream);
  }
  Graph graph = nullptr;
  const int ended = driver_.cuStreamEndCapture(handle, &graph);
  {
    const std::lock_guard lock(mutex_);
    captured_.erase(stream);
    is_capturing_ = !captured_.empty();
  }
  GPUEMU_TRY(device_.check(ended, "ending a capture"));
  const std::lock_guard lock(mutex_);
  graphs_.insert(id_of(graph));
  return id_of(graph);
}

Result<bool> CudaStreams::is_capturing(StreamId stream) {
  const Stream handle = GPUEMU_TRY(use(stream));
  if (stream == kDefaultStream) return false;
  int state = 0;
  GPUEMU_TRY(device_.check(driver_.cuStreamIsCapturing(handle, &state), "asking for a capture"));
  return state != 0;
}

Result<size_t> CudaStreams::graph_nodes(GraphId graph) {
  GPUEMU_TRY(use_handle(graphs_, graph, "graph"));
  size_t count = 0;
  GPUEMU_TRY(device_.check(driver_.cuGraphGetNodes(reinterpret_cast<Graph>(graph), nullptr, &count),
                           "counting nodes"));
  return count;
}

Result<GraphExecId> CudaStreams::instantiate(GraphId graph) {
  GPUEMU_TRY(use_handle(graphs_, graph, "graph"));
  if (driver_.cuGraphInstantiateWithFlags == nullptr) {
    return error(ErrorCode::Unsupported,
                 "this driver cannot instantiate graphs; update it to one for CUDA 11.4 or later");
  }
  GraphExec made = nullptr;
  GPUEMU_TRY(
      device_.check(driver_.cuGraphInstantiateWithFlags(&made, reinterpret_cast<Graph>(graph), 0),
                    "instantiating a graph"));
  const std::lock_guard lock(mutex_);
  execs_.insert(id_of(made));
  return id_of(made);
}

Status CudaStreams::launch_graph(GraphExecId graph, StreamId stream) {
  GPUEMU_TRY(use_handle(execs_, graph, "instantiated graph"));
  const Stream handle = GPUEMU_TRY(use(stream));
  return device_.check(driver_.cuGraphLaunch(reinterpret_cast<GraphExec>(graph), handle),
                       "launching a graph");
}

Status CudaStreams::free_graph(GraphId graph) {
  GPUEMU_TRY(forget_handle(graphs_, graph, "graph"));
  return device_.check(driver_.cuGraphDestroy(reinterpret_cast<Graph>(graph)), "freeing a graph");
}

Status CudaStreams::free_graph_exec(GraphExecId graph) {
  GPUEMU_TRY(forget_handle(execs_, graph, "instantiated graph"));
  return device_.check(driver_.cuGraphExecDestroy(reinterpret_cast<GraphExec>(graph)),
                       "freeing a graph");
}

void CudaStreams::free_all() {
  for (const uint64_t exec : execs_) driver_.cuGraphExecDestroy(reinterpret_cast<GraphExec>(exec));
  for (const uint64_t graph : graphs_) driver_.cuGraphDestroy(reinterpret_cast<Graph>(graph));
  for (const uint64_t event : events_) driver_.cuEventDestroy_v2(reinterpret_cast<Event>(event));
  driver_.cuCtxSynchronize();
  for (const auto& [address, bytes] : managed_) driver_.cuMemFree_v2(address);
  for (const uint64_t stream : streams_) {
    if (foreign_.contains(stream)) continue;
    driver_.cuStreamDestroy_v2(reinterpret_cast<Stream>(stream));
  }
  for (const uint64_t memory : pinned_) driver_.cuMemFreeHost(reinterpret_cast<void*>(memory));
}

}  // namespace gpuemu::cuda
