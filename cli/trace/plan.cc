#include "cli/trace/plan.h"

#include "ops/dispatch/registry.h"
#include "runtime/tape/scheduler.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

/// Checks only the name: a plan may use fictitious sizes and costs.
Status check_op(const OpRegistry& registry, const tape::Entry& entry) {
  if (entry.is_tape_leaf()) {
    if (entry.inputs.empty()) return ok_status();
    return error(ErrorCode::InvalidArgument, "{} has no inputs, got {}", entry.op,
                 entry.inputs.size());
  }
  const auto op = registry.find(entry.op);
  if (!op) {
    return error(ErrorCode::InvalidArgument,
                 "gpuemu has no op '{}'; `gpuemu kernels` lists the ops, and a tape also has "
                 "randn, ones, tensor, fetch and drop",
                 entry.op);
  }
  if (!entry.inputs.empty() || (*op)->inputs.empty()) return ok_status();
  return error(ErrorCode::InvalidArgument, "{} needs inputs, got none", entry.op);
}

std::vector<tape::Device> devices_of(const tape::Trace& file, const PlanOptions& options) {
  std::vector<tape::Device> devices = file.devices;
  if (options.devices || devices.empty()) {
    devices.clear();
    for (uint32_t i = 0; i < options.devices.value_or(1); ++i) {
      devices.push_back(
          {.index = i, .name = "simulated device", .worker_id = fmt::format("local-{}", i)});
    }
  }
  if (options.memory_mb) {
    for (tape::Device& one : devices) one.memory_bytes = *options.memory_mb * kMebibyte;
  }
  return devices;
}

}  // namespace

Result<tape::Trace> plan_tape(const std::string& json, const PlanOptions& options) {
  const tape::Trace file = GPUEMU_TRY(tape::decode_plan(json));
  tape::Scheduler scheduler({.devices = devices_of(file, options),
                             .seed = options.seed.value_or(file.seed),
                             .policy = options.policy.value_or(file.policy)});
  // In the order of their first entry, which decides between sessions with equal use.
  for (const tape::Entry& entry : file.input_tape) scheduler.set_weight(entry.session, 1);
  for (const tape::Session& one : file.sessions) scheduler.set_weight(one.name, one.weight);
  const OpRegistry registry = OpRegistry::with_builtins();
  GPUEMU_TRY(scheduler.add(file.input_tape, [&](const tape::Entry& entry, const auto&) {
    return check_op(registry, entry);
  }));
  while (scheduler.step()) {
  }
  tape::Trace trace = scheduler.trace();
  trace.gpuemu = GPUEMU_VERSION;
  return trace;
}

}  // namespace gpuemu::cli
