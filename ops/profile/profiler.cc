// Records events. Device times come from events that are read when the profiler stops.
#include "ops/profile/profiler.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

void add_counts(MemoryCount& to, const MemoryCount& from) {
  to.global_requests += from.global_requests;
  to.global_bytes += from.global_bytes;
  to.sectors += from.sectors;
  to.lines += from.lines;
  to.shared_requests += from.shared_requests;
  to.wavefronts += from.wavefronts;
  to.bank_conflicts += from.bank_conflicts;
}

}  // namespace

void TimeStatistics::add(double us) {
  min_us = count == 0 ? us : std::min(min_us, us);
  max_us = count == 0 ? us : std::max(max_us, us);
  total_us += us;
  ++count;
}

Result<std::unique_ptr<Profiler>> Profiler::create(Device& device, ProfilerOptions options) {
  Streams* streams = GPUEMU_TRY(device.streams());
  std::unique_ptr<Profiler> made(new Profiler(*streams, options));
  if (options.nvtx && !nvtx::is_built_in()) {
    made->result_.notes.emplace_back(
        "no NVTX ranges: this build did not find NVIDIA's headers (nvtx3/nvToolsExt.h)");
  }
  // Loading CUPTI takes time, so all clocks start after it.
  const bool has_records =
      device_traits(device.properties().backend).is_gpu || !options.cupti.empty();
  if (options.kernels && has_records) made->record_kernels();
  made->base_ = GPUEMU_TRY(streams->make_event());
  GPUEMU_TRY(streams->record(made->base_, kDefaultStream));
  GPUEMU_TRY(streams->synchronize_event(made->base_));
  made->started_ = Clock::now();
  if (made->recorder_ != nullptr) made->recorder_began_ns_ = made->recorder_->now_ns();
  if (options.counters) {
    StreamChecks checks;
    checks.profile = true;
    checks.observer = [profiler = made.get()](uint64_t, const std::string& entry,
                                              const LaunchReport& report) {
      profiler->count(entry, report);
    };
    streams->set_checks(std::move(checks));
  }
  return made;
}

Profiler::~Profiler() {
  if (!stopped_) (void)stop().ok();
}

double Profiler::now_us() const {
  return std::chrono::duration<double, std::micro>(Clock::now() - started_).count();
}

uint64_t Profiler::track_of_thread() {
  return tracks_.emplace(std::this_thread::get_id(), tracks_.size()).first->second;
}

bool Profiler::full() {
  if (result_.spans.size() + ops_.size() < options_.records_max) return false;
  ++result_.dropped;
  return true;
}

void Profiler::begin_range(std::string_view name) {
  const double begin = now_us();
  const std::string text(name);
  if (options_.nvtx) nvtx::push(text);
  const std::lock_guard lock(mutex_);
  open_[track_of_thread()].push_back({text, begin});
}

void Profiler::end_range() {
  const double end = now_us();
  const std::lock_guard lock(mutex_);
  const uint64_t track = track_of_thread();
  std::vector<OpenRange>& open = open_[track];
  if (open.empty()) return;
  if (options_.nvtx) nvtx::pop();
  const OpenRange range = std::move(open.back());
  open.pop_back();
  result_.ranges[range.name].add(end - range.begin_us);
  if (!full()) {
    result_.spans.push_back({range.name, range.begin_us, end - range.begin_us, track});
  }
}

Status Profiler::begin_op(std::string_view name, StreamId stream) {
  if (GPUEMU_TRY(streams_.is_capturing(stream))) return ok_status();
  {
    const std::lock_guard lock(mutex_);
    if (full()) return ok_status();
  }
  PendingOp op{std::string(name), stream};
  op.begin = GPUEMU_TRY(streams_.make_event());
  GPUEMU_TRY(streams_.record(op.begin, stream));
  if (options_.nvtx) nvtx::push(op.name);
  const std::lock_guard lock(mutex_);
  running_[{std::this_thread::get_id(), stream}] = std::move(op);
  return ok_status();
}

Status Profiler::end_op(StreamId stream) {
  PendingOp op;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find({std::this_thread::get_id(), stream});
    if (found == running_.end()) return ok_status();
    op = std::move(found->second);
    running_.erase(found);
  }
  if (options_.nvtx) nvtx::pop();
  op.end = GPUEMU_TRY(streams_.make_event());
  GPUEMU_TRY(streams_.record(op.end, stream));
  const std::lock_guard lock(mutex_);
  ops_.push_back(std::move(op));
  return ok_status();
}

void Profiler::count(const std::string& entry, const LaunchReport& report) {
  const double end = now_us(), duration = static_cast<double>(report.elapsed_ns) * 1e-3;
  const std::lock_guard lock(mutex_);
  KernelCounts& kernel = result_.kernels[entry];
  ++kernel.launches;
  kernel.time.add(duration);
  if (!full()) {
    const double begin = std::max(0.0, end - duration);
    result_.spans.push_back({entry, begin, duration, 0, TraceSpan::Kind::Kernel});
  }
  if (report.profile == nullptr) return;
  for (const GroupCount& group : by_group(*report.profile)) {
    kernel.instructions[std::string(group.group)] += group.threads;
  }
  const SpaceBytes bytes = bytes_by_space(*report.profile);
  kernel.bytes.global += bytes.global;
  kernel.bytes.shared += bytes.shared;
  kernel.bytes.local += bytes.local;
  for (const InstructionCount& one : report.profile->counts.instructions) {
    kernel.divergent_branches += one.divergent;
    add_counts(kernel.memory, one.memory);
  }
}

void Profiler::record_kernels() {
  auto recorder = KernelRecorder::start(options_.records_max, options_.cupti);
  if (recorder) {
    recorder_ = *std::move(recorder);
  } else {
    result_.notes.push_back("no records of kernels: " + recorder.error().message);
  }
}

Status Profiler::add_kernels(ProfileResult& result) {
  if (recorder_ == nullptr) return ok_status();
  const KernelRecorder::Recorded recorded = GPUEMU_TRY(recorder_->stop());
  result.dropped += recorded.dropped;
  for (const KernelRecord& one : recorded.kernels) {
    const double begin =
        (static_cast<double>(one.begin_ns) - static_cast<double>(recorder_began_ns_)) * 1e-3;
    const double duration = static_cast<double>(one.end_ns - one.begin_ns) * 1e-3;
    KernelCounts& kernel = result.kernels[one.name];
    ++kernel.launches;
    kernel.time.add(duration);
    kernel.registers = one.registers;
    kernel.local_bytes = one.local_bytes;
    if (full()) continue;
    result.spans.push_back(
        {one.name, std::max(0.0, begin), duration, one.stream, TraceSpan::Kind::Kernel,
         fmt::format("grid {}, block {}", fmt::join(one.grid, "x"), fmt::join(one.block, "x"))});
  }
  return ok_status();
}

Status Profiler::resolve(ProfileResult& result) {
  for (const PendingOp& op : ops_) {
    const double begin = 1000.0 * GPUEMU_TRY(streams_.elapsed_ms(base_, op.begin));
    const double duration = 1000.0 * GPUEMU_TRY(streams_.elapsed_ms(op.begin, op.end));
    result.ops[op.name].add(duration);
    result.spans.push_back({op.name, begin, duration, op.stream, TraceSpan::Kind::Op});
    GPUEMU_TRY(streams_.free_event(op.begin));
    GPUEMU_TRY(streams_.free_event(op.end));
  }
  for (const auto& [where, op] : running_) GPUEMU_TRY(streams_.free_event(op.begin));
  return streams_.free_event(base_);
}

Result<ProfileResult> Profiler::stop() {
  if (stopped_) return error(ErrorCode::InvalidArgument, "the profiler was stopped before");
  stopped_ = true;
  const Status waited = streams_.synchronize_all();
  if (options_.counters) streams_.set_checks({});
  GPUEMU_TRY(waited);
  const std::lock_guard lock(mutex_);
  const double end = now_us();
  for (auto& [track, open] : open_) {
    for (const OpenRange& range : open) {
      result_.ranges[range.name].add(end - range.begin_us);
      result_.spans.push_back({range.name, range.begin_us, end - range.begin_us, track});
    }
  }
  GPUEMU_TRY(resolve(result_));
  GPUEMU_TRY(add_kernels(result_));
  std::ranges::stable_sort(result_.spans, {}, &TraceSpan::begin_us);
  return std::move(result_);
}

}  // namespace gpuemu
