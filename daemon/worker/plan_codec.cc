// Each record is described once, in fields(); see wire.h.
#include "daemon/worker/plan_codec.h"

#include "common/base/enum_count.h"
#include "daemon/worker/wire.h"

namespace gpuemu {
// In the namespace wire, so that member() finds every fields() by argument-dependent lookup.
namespace wire {

template <typename Wire>
void fields(Wire& wire, Dim3& dim) {
  members(wire, dim.x, dim.y, dim.z);
}

template <typename Wire>
void fields(Wire& wire, DeviceProperties& it) {
  members(wire, it.backend, it.name, it.sm, it.memory_bytes, it.memory_free_bytes,
          it.multiprocessors, it.shared_bytes_per_block_max, it.driver_version, it.checks_bounds);
}

template <typename Wire>
void fields(Wire& wire, KernelParam& it) {
  members(wire, it.name, it.bytes, it.offset, it.is_pointer);
}

template <typename Wire>
void fields(Wire& wire, EntryInfo& it) {
  members(wire, it.name, it.params, it.static_shared_bytes, it.required_block, it.max_block,
          it.cluster, it.needs_cluster, it.cooperative);
}

template <typename Wire>
void fields(Wire& wire, PlanTensor& it) {
  members(wire, it.name, it.role, it.dtype, it.shape, it.layout.strides, it.layout.offset_elements,
          it.layout.buffer_elements, it.arena_offset, it.output_offset, it.warmup_offset,
          it.base_offset_bytes, it.repeats, it.initial);
}

template <typename Wire>
void fields(Wire& wire, PlanArg& it) {
  members(wire, it.tensor, it.scalar, it.offset_bytes, it.text);
}

template <typename Wire>
void fields(Wire& wire, PlanVariable& it) {
  members(wire, it.name, it.source_name, it.value, it.initial, it.starts_undefined);
}

template <typename Wire>
void fields(Wire& wire, PlanLaunch& it) {
  members(wire, it.entry, it.grid, it.block, it.cluster, it.shared_bytes, it.args, it.grown_blocks);
}

template <typename Wire>
void fields(Wire& wire, PlanShadow& it) {
  members(wire, it.wanted, it.offsets, it.tensor, it.element, it.block, it.errors, it.nudge);
}

template <typename Wire>
void fields(Wire& wire, ShadowValue& it) {
  members(wire, it.name, it.computed, it.exact, it.bound);
}

template <typename Wire>
void fields(Wire& wire, ShadowStep& it) {
  members(wire, it.kind, it.instruction, it.file, it.line, it.ptx_line, it.block, it.thread,
          it.visit, it.count, it.result, it.operands);
}

template <typename Wire>
void fields(Wire& wire, ExecutionShadow& it) {
  members(wire, it.divergence, it.origin, it.other_decision, it.slice, it.other_decisions,
          it.close_roundings, it.lost_comparisons, it.complete);
}

template <typename Wire>
void fields(Wire& wire, DeviceChecks& it) {
  uint32_t bits = it.bits();
  members(wire, bits);
  it = DeviceChecks::from_bits(bits);
}

template <typename Wire>
void fields(Wire& wire, ExecutionPlan& it) {
  members(wire, it.arena, it.module_key, it.module_name, it.tensors, it.launches, it.variables,
          it.runs, it.deterministic, it.timeout_ms, it.memory_limit_bytes, it.sanitize, it.profile,
          it.warmup, it.fresh_module, it.coverage, it.coverage_lines, it.known_reached, it.shadow,
          it.order_seed, it.first_order, it.sparse_launch_ms);
}

template <typename Wire>
void fields(Wire& wire, HarnessFinding& it) {
  members(wire, it.kind, it.tensor, it.first_index, it.count, it.message);
}

template <typename Wire>
void fields(Wire& wire, DeviceFinding& it) {
  members(wire, it.kind, it.message, it.entry, it.file, it.line, it.other_file, it.other_line,
          it.other_ptx_line, it.ptx_line, it.instruction, it.block, it.thread, it.tensor,
          it.byte_offset, it.count);
}

template <typename Wire>
void fields(Wire& wire, LineCount& it) {
  members(wire, it.file, it.line, it.instructions, it.count.warps, it.count.threads,
          it.count.divergent, it.count.memory.global_requests, it.count.memory.global_bytes,
          it.count.memory.sectors, it.count.memory.lines, it.count.memory.shared_requests,
          it.count.memory.wavefronts, it.count.memory.bank_conflicts);
}

template <typename Wire>
void fields(Wire& wire, CoveredBlock& it) {
  members(wire, it.id, it.threads);
}

template <typename Wire>
void fields(Wire& wire, CoveredEdge& it) {
  members(wire, it.id, it.file, it.line, it.is_branch, it.branch, it.way, it.to_line, it.warps,
          it.threads);
}

template <typename Wire>
void fields(Wire& wire, LaunchCoverage& it) {
  members(wire, it.warps, it.lines, it.blocks, it.edges);
}

template <typename Wire>
void fields(Wire& wire, ExecutionReport& it) {
  members(wire, it.harness, it.device, it.thread_instructions, it.elapsed_ns, it.printed, it.lines,
          it.reached, it.shadow);
}

template <typename Wire>
void fields(Wire& wire, ModuleText& it) {
  members(wire, it.key, it.name, it.ptx);
}

template <typename Wire>
void fields(Wire& wire, Error& it) {
  members(wire, it.code, it.message);
}

}  // namespace wire

namespace {

/// The writer does not change members; copying lets one description serve both directions.
template <typename T>
std::vector<std::byte> encode(MessageKind kind, T record) {
  wire::Writer out;
  auto number = static_cast<uint8_t>(kind);
  out.value(number);
  wire::member(out, record);
  return out.take();
}

template <typename T>
Result<T> decode(ByteReader& in) {
  T record;
  wire::Reader reader(in);
  wire::member(reader, record);
  GPUEMU_TRY(reader.end());
  return record;
}

}  // namespace

std::vector<std::byte> encode_hello(const DeviceProperties& properties) {
  return encode(MessageKind::Hello, properties);
}
std::vector<std::byte> encode_module(const ModuleText& module) {
  return encode(MessageKind::LoadModule, module);
}
std::vector<std::byte> encode_entries(const std::vector<EntryInfo>& entries) {
  return encode(MessageKind::Entries, entries);
}
std::vector<std::byte> encode_plan(const ExecutionPlan& plan) {
  return encode(MessageKind::Execute, plan);
}
std::vector<std::byte> encode_report(const ExecutionReport& report, bool last) {
  return encode(last ? MessageKind::LastReport : MessageKind::Report, report);
}
std::vector<std::byte> encode_failure(const Error& failure) {
  return encode(MessageKind::Failed, failure);
}

std::vector<std::byte> encode_tape(std::span<const std::byte> body) {
  ByteWriter out;
  out.write(static_cast<uint8_t>(MessageKind::Tape));
  out.write_blob(body);
  return out.take();
}

Result<MessageKind> decode_kind(ByteReader& in) {
  const auto number = GPUEMU_TRY(in.read<uint8_t>());
  if (number >= enum_count<MessageKind>()) {
    return error(ErrorCode::Corruption, "message: kind {}, expected below {}", number,
                 enum_count<MessageKind>());
  }
  return static_cast<MessageKind>(number);
}

Result<DeviceProperties> decode_hello(ByteReader& in) { return decode<DeviceProperties>(in); }
Result<ModuleText> decode_module(ByteReader& in) { return decode<ModuleText>(in); }
Result<std::vector<EntryInfo>> decode_entries(ByteReader& in) {
  return decode<std::vector<EntryInfo>>(in);
}
Result<ExecutionPlan> decode_plan(ByteReader& in) { return decode<ExecutionPlan>(in); }
Result<ExecutionReport> decode_report(ByteReader& in) { return decode<ExecutionReport>(in); }

Result<std::vector<std::byte>> decode_tape(ByteReader& in) {
  const std::span<const std::byte> body = GPUEMU_TRY(in.read_blob());
  return std::vector<std::byte>(body.begin(), body.end());
}

Error decode_failure(ByteReader& in) {
  Error failure;
  wire::Reader reader(in);
  wire::member(reader, failure);
  const Status read = reader.end();
  return read ? failure : read.error();
}

}  // namespace gpuemu
