// A run: new buffers, poison, launches, download, checks. The outputs of all runs are compared
// afterwards. Consecutive runs use different addresses.
#include "daemon/executor/execute.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include <fmt/ranges.h>

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/rng/rng.h"
#include "daemon/executor/compare_runs.h"
#include "daemon/executor/execute_buffer.h"
#include "daemon/executor/execute_shadow.h"
#include "daemon/executor/launch_config.h"
#include "daemon/executor/module_variables.h"
#include "runtime/device/device_traits.h"
#include "runtime/device/fault.h"
#include "runtime/profile/reach_set.h"

namespace gpuemu {
namespace {

using std::chrono::steady_clock;
using Kind = HarnessFinding::Kind;
using Role = PlanTensor::Role;

/// Larger runs may reuse the previous run's addresses, because two of them need not fit the device.
constexpr uint64_t kHeldBytesMax = uint64_t{256} << 20;
/// Divisor of a case's time that gives the warmup's time: an endless one must leave time for the
/// case.
constexpr int kWarmupShare = 3;
/// Divisor for the run in issue order; later runs need the same time as the first.
constexpr int kIssueShare = 4;
/// A warmup on the emulator that takes longer is restarted with a check of what it reads.
constexpr auto kWarmupFirst = std::chrono::milliseconds(250);

/// Returns whether its elements only need to be written: elements with initial values, or used as
/// scratch space, may be written several times.
bool is_plain_output(const ExecutionPlan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.tensors, name, &PlanTensor::name);
  return found != plan.tensors.end() && found->role == Role::Output && found->initial.empty();
}

class Execution {
 public:
  Execution(RunMemory& memory, ModuleId module, Arena& arena, const ExecutionPlan& plan)
      : memory_(memory),
        device_(memory.device()),
        module_(module),
        arena_(arena),
        plan_(plan),
        end_(steady_clock::now() +
             std::chrono::milliseconds(std::min<uint64_t>(plan.timeout_ms, 86'400'000))) {}

  Result<ExecutionReport> run();

 private:
  Status check_memory();
  /// Returns buffers at addresses that the previous run did not use, if there is enough memory.
  Result<std::vector<ExecuteBuffer>> fresh_buffers();
  Result<RunOutputs> run_once(uint32_t run);
  Status run_warmup(std::vector<ExecuteBuffer>& buffers);
  /// Makes one attempt; the report is that of the last launch.
  Result<LaunchReport> warm_up(std::vector<ExecuteBuffer>& buffers, steady_clock::time_point end,
                               const DeviceChecks& checks);
  Status run_as_issued();
  Status download_all(std::vector<ExecuteBuffer>& buffers);
  void tell_time_left(const LaunchConfig& config, LaunchReport& launched) const;
  /// Returns false if the remaining launches should not run.
  Result<bool> launch_all(const std::vector<ExecuteBuffer>& buffers, uint32_t run);
  Result<LaunchConfig> configure(const PlanLaunch& launch,
                                 const std::vector<ExecuteBuffer>& buffers,
                                 steady_clock::time_point end) const;
  void take(LaunchReport report, const std::vector<ExecuteBuffer>& buffers, uint32_t run);
  Status find_others();
  void add(std::optional<HarnessFinding> finding);
  /// Returns the plan's order for the first run; index order if no other is requested.
  ThreadOrder order_of(uint32_t run) const;
  /// Returns "; the threads proceeded in another order ('reverse') ..."; "" if they did not.
  std::string order_text(uint32_t run) const;
  /// Returns why the output differs in `run`; `untouched`: the element still holds poison.
  std::string difference_text(uint32_t run, bool untouched) const;
  Status write_outputs(const RunOutputs& outputs);
  void compare(const std::vector<RunOutputs>& runs);
  void drop_known();

  RunMemory& memory_;
  Device& device_;
  ModuleId module_;
  Arena& arena_;
  const ExecutionPlan& plan_;
  steady_clock::time_point end_;
  ExecutionReport report_;
  uint64_t bytes_needed_ = 0;            ///< Device memory per run.
  std::vector<ExecuteBuffer> previous_;  ///< Kept so that the next run gets other addresses.
  std::optional<RunOutputs> warmed_up_;  ///< Outputs of the warmup.
  bool blocks_met_ = false;              ///< LaunchReport::blocks_met of any launch.
  bool stopped_ = false;                 ///< A finding of the device or a launch: no further runs.
  std::vector<std::string> others_;      ///< Entries of the module that the plan does not launch.
};

/// Returns "; that is y[3, 17]" for a place in the tensor that is an element.
std::string element_text(const PlanTensor& tensor, int64_t byte_offset) {
  const auto size = static_cast<int64_t>(byte_size(tensor.dtype));
  int64_t rest = byte_offset / size - tensor.layout.offset_elements;
  if (byte_offset < 0 || rest < 0 || tensor.shape.empty()) return "";
  std::vector<size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t axis) { return tensor.layout.strides[axis]; });
  std::vector<int64_t> index(tensor.shape.size());
  for (const size_t axis : order) {
    const int64_t stride = tensor.layout.strides[axis];
    if (stride > 0) index[axis] = rest / stride;
    if (index[axis] >= tensor.shape[axis]) return "";
    rest -= index[axis] * stride;
  }
  return rest == 0 ? fmt::format("; that is {}[{}]", tensor.name, fmt::join(index, ", ")) : "";
}

Status Execution::check_memory() {
  uint64_t& needed = bytes_needed_;
  for (const PlanTensor& tensor : plan_.tensors) {
    needed += GPUEMU_TRY(ExecuteBuffer::bytes_for(tensor, device_.properties().checks_bounds));
  }
  if (needed <= plan_.memory_limit_bytes) return ok_status();
  return error(ErrorCode::ResourceExhausted,
               "the tensors need {} bytes of device memory, the limit is {}: use smaller dims or "
               "raise the limit",
               needed, plan_.memory_limit_bytes);
}

void Execution::add(std::optional<HarnessFinding> finding) {
  if (!finding || report_.harness.size() >= kFindingsMax) return;
  // The second run repeats the findings of the first.
  const bool known = std::ranges::any_of(report_.harness, [&](const HarnessFinding& other) {
    return other.kind == finding->kind && other.tensor == finding->tensor;
  });
  if (!known) report_.harness.push_back(*std::move(finding));
}

ThreadOrder Execution::order_of(uint32_t run) const {
  const bool wanted = plan_.sanitize.has(DeviceCheck::Schedule);
  if (!device_traits(device_.properties().backend).orders_threads) return ThreadOrder::InOrder;
  if (run == 0) return plan_.first_order;
  if (!wanted) return ThreadOrder::InOrder;
  Stream draws(plan_.order_seed, run, "interleaving");
  return static_cast<ThreadOrder>(1 + draws.below(kThreadOrders - 1));
}

std::string Execution::order_text(uint32_t run) const {
  const ThreadOrder order = order_of(run);
  if (order == ThreadOrder::InOrder) return "";
  return fmt::format(
      "; the threads of run {} proceeded in another order ('{}'), as CUDA allows: what depends on "
      "it needs a barrier, an atomic or a launch of its own",
      run + 1, name_of(order));
}

std::string Execution::difference_text(uint32_t run, bool untouched) const {
  if (!untouched) return "; set deterministic = false when that is meant" + order_text(run);
  return fmt::format(
      "; run {} did not write it: what the kernel keeps from one launch to the next, such as a "
      "counter in a __device__ variable that nobody sets back, decides whether it does",
      run + 1);
}

Result<LaunchConfig> Execution::configure(const PlanLaunch& launch,
                                          const std::vector<ExecuteBuffer>& buffers,
                                          steady_clock::time_point end) const {
  std::vector<uint64_t> addresses;
  for (const ExecuteBuffer& buffer : buffers) addresses.push_back(buffer.address());
  LaunchConfig config = GPUEMU_TRY(launch_config(plan_, launch, addresses));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
  config.timeout_ms = static_cast<uint64_t>(std::max<int64_t>(left.count(), 1));
  return config;
}

void Execution::take(LaunchReport report, const std::vector<ExecuteBuffer>& buffers, uint32_t run) {
  if (run == 0) {
    report_.elapsed_ns += report.elapsed_ns;
    report_.thread_instructions += report.thread_instructions;
    for (std::string& line : report.printed) {
      if (report_.printed.size() < kPrintedLinesKept) report_.printed.push_back(std::move(line));
    }
  }
  if (report.profile != nullptr && plan_.profile) {
    add_lines(report_.lines, by_line(*report.profile));
  }
  for (DeviceFinding& finding : report.findings) {
    if (report_.device.size() >= kFindingsMax) break;
    if (is_unchecked(finding)) {
      // Every run of the case repeats it.
      const bool known = std::ranges::find(report_.device, finding.message,
                                           &DeviceFinding::message) != report_.device.end();
      if (!known) report_.device.push_back(std::move(finding));
      continue;
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      // Relative to the tensor, not to the allocation with its guard and base offset.
      if (plan_.tensors[i].name != finding.tensor) continue;
      finding.byte_offset -= static_cast<int64_t>(buffers[i].front_bytes());
      finding.message += element_text(plan_.tensors[i], finding.byte_offset);
      break;
    }
    explain_unset(plan_, finding);
    finding.message += order_text(run);
    report_.device.push_back(std::move(finding));
  }
}

/// Needed only for coverage: no case could reach their code.
Status Execution::find_others() {
  if (!plan_.coverage) return ok_status();
  for (const EntryInfo& entry : GPUEMU_TRY(device_.entries(module_))) {
    if (std::ranges::find(plan_.launches, entry.name, &PlanLaunch::entry) == plan_.launches.end()) {
      others_.push_back(entry.name);
    }
  }
  return ok_status();
}

/// All launches of a case share its time, and a later one has what is left. The message names the
/// configured limit.
void Execution::tell_time_left(const LaunchConfig& config, LaunchReport& launched) const {
  if (config.timeout_ms == plan_.timeout_ms) return;
  const std::string own = fmt::format("did not end within {} ms", config.timeout_ms);
  for (DeviceFinding& finding : launched.findings) {
    const size_t at = finding.message.find(own);
    if (at == std::string::npos) continue;
    finding.message.replace(
        at, own.size(),
        fmt::format("did not end within the last {} of the {} ms that all launches of a case have "
                    "together (runtime.case_timeout_ms)",
                    config.timeout_ms, plan_.timeout_ms));
  }
}

Result<bool> Execution::launch_all(const std::vector<ExecuteBuffer>& buffers, uint32_t run) {
  for (const PlanLaunch& launch : plan_.launches) {
    LaunchConfig config = GPUEMU_TRY(configure(launch, buffers, end_));
    config.profile = (plan_.profile || plan_.coverage) && run == 0;
    config.thread_order = order_of(run);
    config.thread_order_seed = plan_.order_seed;
    if (plan_.shadow.wanted) config.shadow = shadow_config(plan_, buffers);
    Result<LaunchReport> launched = device_.launch(module_, config);
    if (!launched) {
      const Error& why = launched.error();
      if (why.code == ErrorCode::Unavailable || why.code == ErrorCode::Internal) return why;
      add(HarnessFinding{Kind::Launch, "", 0, 1, why.message});
      stopped_ = true;
      return false;
    }
    std::erase_if(launched->findings, [&](const DeviceFinding& finding) {
      return finding.kind == DeviceFindingKind::WrittenTwice &&
             !is_plain_output(plan_, finding.tensor);
    });
    tell_time_left(config, *launched);
    blocks_met_ = blocks_met_ || launched->blocks_met;
    stopped_ = stopped_ || !std::ranges::all_of(launched->findings, is_note);
    const bool goes_on = std::ranges::none_of(launched->findings, is_fault);
    if (launched->profile != nullptr && plan_.coverage) {
      merge_coverage(report_.reached,
                     coverage_of(*launched->profile, launch.entry, others_, plan_.coverage_lines));
    }
    if (plan_.shadow.wanted) {
      GPUEMU_TRY(keep_shadow(launched->shadow.get(), device_.properties(), plan_, arena_, report_));
    }
    take(*std::move(launched), buffers, run);
    if (!goes_on) return false;
  }
  return true;
}

Result<std::vector<ExecuteBuffer>> Execution::fresh_buffers() {
  if (bytes_needed_ > std::min(plan_.memory_limit_bytes / 2, kHeldBytesMax)) previous_.clear();
  std::vector<ExecuteBuffer> buffers;
  buffers.reserve(plan_.tensors.size());
  for (const PlanTensor& tensor : plan_.tensors) {
    buffers.push_back(GPUEMU_TRY(ExecuteBuffer::create(memory_, tensor)));
  }
  previous_.clear();
  return buffers;
}

Result<LaunchReport> Execution::warm_up(std::vector<ExecuteBuffer>& buffers,
                                        steady_clock::time_point end, const DeviceChecks& checks) {
  for (ExecuteBuffer& buffer : buffers) GPUEMU_TRY(buffer.upload(arena_, 1, true));
  GPUEMU_TRY(set_variables({device_, module_}, arena_, plan_, 1, true));
  LaunchReport last;
  for (const PlanLaunch& launch : plan_.launches) {
    LaunchConfig config = GPUEMU_TRY(configure(launch, buffers, end));
    config.sanitize = checks;
    last = GPUEMU_TRY(device_.launch(module_, config));
    if (std::ranges::any_of(last.findings, is_fault)) break;
  }
  return last;
}

/// Ignores the warmup's findings, except a fault that destroys the device: the counted runs repeat
/// them with more detail.
Status Execution::run_warmup(std::vector<ExecuteBuffer>& buffers) {
  const bool survives = device_traits(device_.properties().backend).survives_faults;
  const auto now = steady_clock::now();
  const auto end = now + (end_ - now) / kWarmupShare;
  const auto first_end = survives ? std::min(end, now + kWarmupFirst) : end;
  Result<LaunchReport> warmup = warm_up(buffers, first_end, {});
  const bool is_slow = warmup && std::ranges::find(warmup->findings, DeviceFindingKind::Timeout,
                                                   &DeviceFinding::kind) != warmup->findings.end();
  // A loop whose bound was never written runs until its limit: the check stops it.
  if (survives && is_slow && first_end < end) warmup = warm_up(buffers, end, {DeviceCheck::Init});
  if (!warmup) return ok_status();
  if (std::ranges::any_of(warmup->findings, is_fault)) {
    // A fault with these inputs does not concern the case, unless nothing can run after it.
    if (survives) return ok_status();
    for (DeviceFinding& finding : warmup->findings) {
      finding.message += "; it was the call before the case's own, which has other values";
    }
    take(*std::move(warmup), buffers, 0);
    stopped_ = true;
    return ok_status();
  }
  RunOutputs outputs(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!is_written(plan_.tensors[i])) continue;
    GPUEMU_TRY(buffers[i].download());
  }
  GPUEMU_TRY(memory_.settle());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (is_written(plan_.tensors[i])) outputs[i] = buffers[i].packed();
  }
  memory_.reuse_host();
  warmed_up_ = std::move(outputs);
  return ok_status();
}

Status Execution::download_all(std::vector<ExecuteBuffer>& buffers) {
  for (ExecuteBuffer& buffer : buffers) GPUEMU_TRY(buffer.download());
  return memory_.settle();
}

Result<RunOutputs> Execution::run_once(uint32_t run) {
  memory_.reuse_host();
  std::vector<ExecuteBuffer> buffers = GPUEMU_TRY(fresh_buffers());
  if (run == 0 && plan_.warmup) GPUEMU_TRY(run_warmup(buffers));
  if (stopped_) return RunOutputs();
  for (ExecuteBuffer& buffer : buffers) GPUEMU_TRY(buffer.upload(arena_, run));
  GPUEMU_TRY(set_variables({device_, module_}, arena_, plan_, run));
  const bool completed = GPUEMU_TRY(launch_all(buffers, run));
  const Status read = download_all(buffers);
  // After a fault the device may be lost: the fault is the finding, not the loss.
  if (!read && !completed) return RunOutputs();
  if (!read) return read.error();
  RunOutputs outputs(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    add(buffers[i].guard_finding());
    add(buffers[i].input_finding());
    if (is_written(plan_.tensors[i])) outputs[i] = buffers[i].packed();
  }
  previous_ = std::move(buffers);
  return outputs;
}

/// If blocks may wait for others that a GPU would not have started yet, makes one more run in which
/// they start as on a GPU. The other runs cover everything else.
Status Execution::run_as_issued() {
  memory_.reuse_host();
  std::vector<ExecuteBuffer> buffers = GPUEMU_TRY(fresh_buffers());
  for (ExecuteBuffer& buffer : buffers) GPUEMU_TRY(buffer.upload(arena_, 0));
  GPUEMU_TRY(set_variables({device_, module_}, arena_, plan_, 0));
  const auto now = steady_clock::now();
  const auto end = now + (end_ - now) / kIssueShare;
  for (const PlanLaunch& launch : plan_.launches) {
    LaunchConfig config = GPUEMU_TRY(configure(launch, buffers, end));
    config.sanitize.clear();
    config.in_issue_order = true;
    Result<LaunchReport> launched = device_.launch(module_, config);
    if (!launched) break;
    const bool goes_on = std::ranges::none_of(launched->findings, is_fault);
    for (DeviceFinding& finding : launched->findings) {
      if (finding.kind != DeviceFindingKind::Deadlock) continue;
      report_.device.push_back(std::move(finding));
      stopped_ = true;
    }
    if (!goes_on) break;
  }
  previous_ = std::move(buffers);
  return memory_.settle();
}

Status Execution::write_outputs(const RunOutputs& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    const auto range = GPUEMU_TRY(arena_.range(plan_.tensors[i].output_offset, outputs[i].size()));
    std::ranges::copy(outputs[i], range.begin());
  }
  return ok_status();
}

void Execution::compare(const std::vector<RunOutputs>& runs) {
  if (warmed_up_) {
    for (HarnessFinding& one : stale_outputs(plan_, *warmed_up_, runs[0])) add(std::move(one));
  }
  const auto why = [&](uint32_t run, bool untouched) { return difference_text(run, untouched); };
  for (HarnessFinding& one : compare_runs(plan_, runs, why)) add(std::move(one));
}

/// Most cases reach nothing new; their coverage is not sent.
void Execution::drop_known() {
  if (plan_.known_reached.empty()) return;
  const ReachSet known(plan_.known_reached);
  if (!known.has_all(features_of(report_.reached))) return;
  report_.reached = {report_.reached.warps, {}, {}, {}};
}

Result<ExecutionReport> Execution::run() {
  if (plan_.tensors.size() > kTensorsMax) {
    return error(ErrorCode::InvalidArgument, "{} tensors, the limit is {}", plan_.tensors.size(),
                 kTensorsMax);
  }
  GPUEMU_TRY(check_memory());
  GPUEMU_TRY(find_others());
  std::vector<RunOutputs> runs;
  for (uint32_t run = 0; run < std::max(plan_.runs, 1u) && !stopped_; ++run) {
    runs.push_back(GPUEMU_TRY(run_once(run)));
    if (run == 0) GPUEMU_TRY(write_outputs(runs[0]));
    const bool wanted = plan_.sanitize.has(DeviceCheck::Schedule);
    if (run == 0 && blocks_met_ && wanted && !stopped_) GPUEMU_TRY(run_as_issued());
  }
  previous_.clear();
  if (!stopped_) compare(runs);
  drop_known();
  return std::move(report_);
}

}  // namespace

Result<ExecutionReport> execute(RunMemory& memory, ModuleId module, Arena& arena,
                                const ExecutionPlan& plan) {
  return Execution(memory, module, arena, plan).run();
}

}  // namespace gpuemu
