#include "runtime/emulator/streams.h"

#include <algorithm>

#include "common/base/limits.h"
#include "runtime/device/fault.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/device.h"

namespace gpuemu::emulator {

Status EmulatorStreams::upload(StreamId stream, uint64_t address, std::span<const std::byte> from) {
  GPUEMU_TRY(device_.check_range(address, from.size(), "upload"));
  return queues_.submit(
      stream, [this, address, from] { return device_.upload_now(address, from); },
      Where::AnyThread);
}

Status EmulatorStreams::download(StreamId stream, std::span<std::byte> to, uint64_t address,
                                 const UndefinedCopied& undefined) {
  GPUEMU_TRY(device_.check_range(address, to.size(), "download"));
  return queues_.submit(
      stream,
      [this, address, to, undefined]() -> Status {
        GPUEMU_TRY(device_.download_now(to, address));
        tell_undefined(undefined, address, to.size());
        return ok_status();
      },
      undefined ? Where::Executor : Where::AnyThread);
}

Status EmulatorStreams::copy(StreamId stream, uint64_t to, uint64_t from, uint64_t bytes,
                             const UndefinedCopied& undefined) {
  GPUEMU_TRY(device_.check_range(to, bytes, "copy"));
  GPUEMU_TRY(device_.check_range(from, bytes, "copy"));
  return queues_.submit(
      stream,
      [=, this]() -> Status {
        GPUEMU_TRY(device_.copy_now(to, from, bytes));
        tell_undefined(undefined, from, bytes);
        return ok_status();
      },
      undefined ? Where::Executor : Where::AnyThread);
}

void EmulatorStreams::tell_undefined(const UndefinedCopied& told, uint64_t from, uint64_t bytes) {
  if (!told) return;
  const std::vector<UndefinedBytes> found = device_.undefined_in(from, bytes);
  if (!found.empty()) told(found);
}

Status EmulatorStreams::fill(StreamId stream, uint64_t address, std::byte value, uint64_t bytes) {
  GPUEMU_TRY(device_.check_range(address, bytes, "fill"));
  return queues_.submit(
      stream, [=, this] { return device_.fill_now(address, value, bytes); }, Where::AnyThread);
}

Status EmulatorStreams::host_call(StreamId stream, std::function<void()> work) {
  return queues_.submit(stream, [work = std::move(work)] {
    work();
    return ok_status();
  });
}

Status EmulatorStreams::wait_value(StreamId stream, uint64_t address, uint64_t bytes,
                                   std::function<bool(uint64_t)> is_met) {
  GPUEMU_TRY(device_.check_range(address, bytes, "wait for a value"));
  return queues_.wait_until(stream, [this, address, bytes, is_met = std::move(is_met)] {
    const std::optional<uint64_t> now = device_.number_at(address, bytes);
    return now && is_met(*now);
  });
}

Result<FunctionId> EmulatorStreams::function(ModuleId module, const std::string& entry) {
  auto made = std::make_shared<Function>();
  made->module = module;
  made->info = GPUEMU_TRY(device_.entry_of_module(module, entry));
  const std::lock_guard lock(functions_mutex_);
  if (const auto known = known_.find({module, entry}); known != known_.end()) return known->second;
  functions_[next_function_] = std::move(made);
  known_[{module, entry}] = next_function_;
  return next_function_++;
}

void EmulatorStreams::forget(ModuleId module) {
  const std::lock_guard lock(functions_mutex_);
  std::erase_if(functions_, [&](const auto& pair) { return pair.second->module == module; });
  std::erase_if(known_, [&](const auto& pair) { return pair.first.first == module; });
}

Status EmulatorStreams::ready_after(const Status& done) const {
  return done ? device_.ready() : done;
}

Result<StreamId> EmulatorStreams::make_stream(const StreamOptions& options) {
  GPUEMU_TRY(device_.ready());
  return queues_.make_stream(options);
}

Status EmulatorStreams::synchronize(StreamId stream) {
  return ready_after(queues_.synchronize(stream));
}

Status EmulatorStreams::synchronize_all() { return ready_after(queues_.synchronize_all()); }

Status EmulatorStreams::synchronize_event(EventId event) {
  return ready_after(queues_.synchronize_event(event));
}

Status EmulatorStreams::launch_graph(GraphExecId graph, StreamId stream) {
  GPUEMU_TRY(device_.ready());
  return queues_.launch_graph(graph, stream);
}

Status EmulatorStreams::launch(StreamId stream, const StreamLaunch& launch) {
  GPUEMU_TRY(device_.ready());
  std::shared_ptr<const Function> function;
  {
    const std::shared_lock lock(functions_mutex_);
    const auto found = functions_.find(launch.function);
    if (found == functions_.end()) {
      return error(ErrorCode::NotFound, "no function {}: its module is unloaded, or it never was",
                   launch.function);
    }
    function = found->second;
  }
  // Shared, because graphs that contain this launch may be copied while it is executed.
  const auto order =
      std::make_shared<Order>(Order{function, launch.tag, {}, launch.tells_touched, nullptr, {}});
  LaunchConfig& config = order->config;
  config.entry = function->info.name;
  static_cast<LaunchShape&>(config) = launch;
  for (const KernelArg& arg : launch.args) {
    const auto* data = static_cast<const std::byte*>(arg.data);
    config.args.emplace_back(data, data + arg.bytes);
  }
  GPUEMU_TRY(check_launch(function->info, config, device_.properties()));
  GPUEMU_TRY(device_.check_registers(function->module, function->info, config));
  return queues_.submit(stream, [this, order] { return run(*order); }, Where::AnyThread);
}

Status EmulatorStreams::run(Order& order) {
  std::shared_ptr<const StreamChecks> checks;
  {
    const std::lock_guard lock(checks_mutex_);
    checks = checks_;
  }
  LaunchConfig& config = order.config;
  if (order.checks != checks) {
    config.sanitize = checks->sanitize;
    config.timeout_ms = checks->timeout_ms;
    config.timeout_stretches = true;
    config.timeout_restarts = checks->timeout_restarts;
    config.profile = checks->profile;
    config.defers_undefined = checks->defers_undefined;
    order.checks = checks;
    order.repetition = {};
  }
  const Function& function = *order.function;
  const bool tells = order.tells_touched && checks->touched &&
                     (!checks->wants_touched || checks->wants_touched(order.tag));
  Result<LaunchReport> ran =
      tells ? launch_and_tell(order, *checks, config)
            : device_.launch_checked(function.module, function.info, config, order.repetition);
  if (!ran) {
    if (checks->failed) checks->failed(order.tag, config.entry, ran.error());
    return ran.error();
  }
  LaunchReport& report = *ran;
  if (checks->observer) checks->observer(order.tag, config.entry, report);
  for (DeviceFinding& finding : report.findings) finding.call = order.tag;
  const auto fault = std::ranges::find_if(report.findings, is_fault);
  if (!report.findings.empty()) {
    const std::lock_guard lock(checks_mutex_);
    for (const DeviceFinding& finding : report.findings) {
      if (findings_.size() < kFindingsMax) findings_.push_back(finding);
    }
  }
  if (fault != report.findings.end()) return launch_error(config, *fault);
  return ok_status();
}

Result<LaunchReport> EmulatorStreams::launch_and_tell(const Order& order,
                                                      const StreamChecks& checks,
                                                      LaunchConfig config) {
  // The race detector provides the accessed memory; its findings are reported only if they were
  // requested.
  const bool wants_races =
      config.sanitize.has(DeviceCheck::Race) || config.sanitize.has(DeviceCheck::RaceGlobal);
  config.sanitize.add(DeviceCheck::RaceGlobal);
  TouchedMemory touched;
  Repetition unused;
  const Function& function = *order.function;
  LaunchReport report =
      GPUEMU_TRY(device_.launch_checked(function.module, function.info, config, unused, &touched));
  if (!wants_races) {
    std::erase_if(report.findings, [](const DeviceFinding& one) {
      return one.kind == DeviceFindingKind::RaceGlobal || is_unchecked(one) ||
             (one.kind == DeviceFindingKind::RaceWarp && !one.tensor.empty());
    });
  }
  checks.touched(order.tag, std::move(touched));
  return report;
}

void EmulatorStreams::set_checks(StreamChecks checks) {
  // Functions of the program may take locks that a thread holds while it waits.
  const bool calls_program =
      checks.observer || checks.failed || checks.touched || checks.wants_touched;
  if (calls_program) queues_.let_waiting_threads_execute(false);
  {
    const std::lock_guard lock(checks_mutex_);
    checks_ = std::make_shared<const StreamChecks>(std::move(checks));
  }
  if (!calls_program) queues_.let_waiting_threads_execute(true);
}

std::vector<DeviceFinding> EmulatorStreams::take_findings() {
  const std::lock_guard lock(checks_mutex_);
  return std::exchange(findings_, {});
}

Result<void*> EmulatorStreams::allocate_host(uint64_t bytes) {
  const uint64_t address = GPUEMU_TRY(device_.allocate_pinned(bytes));
  void* memory = reinterpret_cast<void*>(address);
  const std::lock_guard lock(checks_mutex_);
  pinned_.push_back(memory);
  return memory;
}

Status EmulatorStreams::free_host(void* memory) {
  {
    const std::lock_guard lock(checks_mutex_);
    if (std::erase(pinned_, memory) == 0) {
      return error(ErrorCode::InvalidArgument, "{} is not pinned memory, or is already free",
                   memory);
    }
  }
  return device_.free(reinterpret_cast<uint64_t>(memory));
}

Status EmulatorStreams::adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) {
  return device_.adopt(address, bytes, name);
}

Status EmulatorStreams::release_memory(uint64_t address, uint64_t bytes) {
  return device_.release(address, bytes);
}

Result<StreamId> EmulatorStreams::adopt_stream(void*) {
  return error(ErrorCode::Unsupported,
               "the emulator has streams of its own alone; it cannot use a cudaStream_t");
}

}  // namespace gpuemu::emulator
