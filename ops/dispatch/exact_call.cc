// Runs a call, and computes its values without rounding alongside.
#include "ops/dispatch/dispatcher.h"
#include "ops/dispatch/planning.h"
#include "runtime/device/device_traits.h"
#include "runtime/device/fault.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu {
namespace {

/// Device memory that is freed at the end of a call.
class Scratch {
 public:
  explicit Scratch(Device& device) : device_(device) {}
  ~Scratch() {
    if (address_ != 0) (void)device_.free(address_).ok();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Result<uint64_t> take(uint64_t bytes) {
    address_ = GPUEMU_TRY(device_.allocate(bytes, "workspace"));
    return address_;
  }

 private:
  Device& device_;
  uint64_t address_ = 0;
};

/// Requests the float outputs, in order.
ShadowConfig wanted_of(const OpCase& c) {
  ShadowConfig wanted;
  for (const DeviceTensor& out : c.outputs) {
    if (!is_float(out.dtype) || out.count() == 0) continue;
    wanted.regions.push_back({out.address, static_cast<uint64_t>(out.count()),
                              static_cast<uint32_t>(byte_size(out.dtype))});
  }
  return wanted;
}

}  // namespace

Status Dispatcher::call_exact(const OpCall& call) {
  GPUEMU_CHECK(call.exact != nullptr);
  call.exact->assign(call.outputs.size(), {});
  if (!device_traits(device_.properties().backend).follows_rounding) {
    return error(ErrorCode::Unsupported, "the device is '{}': only the emulator follows rounding",
                 device_.properties().backend);
  }
  const Checked checked = GPUEMU_TRY(this->checked(call));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].contiguous()) continue;
    return error(ErrorCode::InvalidArgument, "{}: {} is not contiguous", call.op->name,
                 call.op->outputs[i].name);
  }
  bool has_work = false;
  for (const DeviceTensor& out : call.outputs) has_work = has_work || out.count() > 0;
  if (!has_work) return ok_status();
  const Choice choice = GPUEMU_TRY(choose(checked.c, checked.types, call));
  if (!choice.variant->library.empty()) {
    return error(ErrorCode::Unsupported, "{}: '{}' is a library, whose values cannot be followed",
                 call.op->name, choice.variant->name);
  }
  return launch_exact(case_for(checked.c, *choice.variant), *choice.variant, checked.types,
                      *call.exact);
}

Status Dispatcher::launch_exact(const OpCase& c, const KernelVariant& variant,
                                const TypeBinding& types,
                                std::vector<std::vector<ShadowElement>>& exact) {
  OpCase planned = c;
  Scratch workspace(device_);
  const uint64_t bytes = GPUEMU_TRY(workspace_of(planned, variant));
  if (bytes > 0) planned.workspace = GPUEMU_TRY(workspace.take(bytes));
  Plan plan;
  GPUEMU_TRY(plan_of(planned, variant, plan));
  const auto wanted = std::make_shared<const ShadowConfig>(wanted_of(c));
  std::shared_ptr<const ShadowReport> last;
  for (const LaunchStep& step : plan.steps()) {
    const LoadedEntry* entry = GPUEMU_TRY(entry_of(c.op, variant, step.entry, types));
    LaunchConfig config;
    config.entry = entry->info.name;
    config.grid = step.grid;
    config.block = step.block;
    config.dynamic_shared_bytes = step.shared_bytes;
    for (size_t i = 0; i < step.arg_count(); ++i) {
      const std::span<const std::byte> argument = step.argument(i);
      config.args.emplace_back(argument.begin(), argument.end());
    }
    config.shadow = wanted;
    const LaunchReport report = GPUEMU_TRY(device_.launch(entry->module, config));
    for (const DeviceFinding& finding : report.findings) {
      if (is_fault(finding)) return launch_error(config, finding);
    }
    last = report.shadow;
  }
  if (last == nullptr) return ok_status();
  size_t region = 0;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!is_float(c.out(i).dtype) || c.out(i).count() == 0) continue;
    exact[i] = last->regions[region++];
  }
  return ok_status();
}

}  // namespace gpuemu
