// Each record is described once, in fields(); see wire.h.
#include "daemon/worker/plan_codec.h"

#include "daemon/worker/wire.h"

namespace gpuemu {
// In the namespace of the wire, so that kEach finds every fields() by its first argument.
namespace wire {
constexpr int kMessageKinds = 7;
constexpr int kRoles = 4;
constexpr int kFindingKinds = 6;
constexpr int kShadowKinds = static_cast<int>(ShadowStep::Kind::Grows) + 1;
constexpr int kErrorCodes = static_cast<int>(ErrorCode::Internal) + 1;

constexpr auto kEach = [](auto& wire, auto& item) {
  if constexpr (requires { wire.value(item); }) {
    wire.value(item);
  } else {
    fields(wire, item);
  }
};

template <typename Wire>
void fields(Wire& wire, Dim3& dim) {
  wire.value(dim.x);
  wire.value(dim.y);
  wire.value(dim.z);
}

template <typename Wire>
void fields(Wire& wire, DeviceProperties& it) {
  wire.value(it.backend);
  wire.value(it.name);
  wire.value(it.sm);
  wire.value(it.memory_bytes);
  wire.value(it.memory_free_bytes);
  wire.value(it.multiprocessors);
  wire.value(it.shared_bytes_per_block_max);
  wire.value(it.driver_version);
  wire.value(it.checks_bounds);
}

template <typename Wire>
void fields(Wire& wire, KernelParam& it) {
  wire.value(it.name);
  wire.value(it.bytes);
  wire.value(it.offset);
  wire.value(it.is_pointer);
}

template <typename Wire>
void fields(Wire& wire, EntryInfo& it) {
  wire.value(it.name);
  wire.list(it.params, kEach);
  wire.value(it.static_shared_bytes);
  for (uint32_t& size : it.required_block) wire.value(size);
  for (uint32_t& size : it.max_block) wire.value(size);
  for (uint32_t& size : it.cluster) wire.value(size);
  wire.value(it.needs_cluster);
  wire.value(it.cooperative);
}

template <typename Wire>
void fields(Wire& wire, PlanTensor& it) {
  wire.value(it.name);
  wire.choice(it.role, kRoles);
  wire.choice(it.dtype, static_cast<int>(kDTypeCount));
  wire.list(it.shape, kEach);
  wire.list(it.layout.strides, kEach);
  wire.value(it.layout.offset_elements);
  wire.value(it.layout.buffer_elements);
  wire.value(it.arena_offset);
  wire.value(it.output_offset);
  wire.value(it.primer_offset);
  wire.value(it.base_offset_bytes);
  wire.value(it.repeats);
}

template <typename Wire>
void fields(Wire& wire, PlanArg& it) {
  wire.value(it.tensor);
  wire.value(it.scalar);
  wire.value(it.text);
}

template <typename Wire>
void fields(Wire& wire, PlanLaunch& it) {
  wire.value(it.entry);
  fields(wire, it.grid);
  fields(wire, it.block);
  fields(wire, it.cluster);
  wire.value(it.shared_bytes);
  wire.list(it.args, kEach);
  wire.value(it.grown_blocks);
}

template <typename Wire>
void fields(Wire& wire, PlanShadow& it) {
  wire.value(it.wanted);
  wire.list(it.offsets, kEach);
  wire.value(it.tensor);
  wire.value(it.element);
  wire.value(it.block);
  wire.choice(it.errors, kShadowErrors);
  wire.value(it.nudge);
}

template <typename Wire>
void fields(Wire& wire, ShadowValue& it) {
  wire.value(it.name);
  wire.value(it.computed);
  wire.value(it.exact);
  wire.value(it.bound);
}

template <typename Wire>
void fields(Wire& wire, ShadowStep& it) {
  wire.choice(it.kind, kShadowKinds);
  wire.value(it.instruction);
  wire.value(it.file);
  wire.value(it.line);
  wire.value(it.ptx_line);
  fields(wire, it.block);
  fields(wire, it.thread);
  wire.value(it.visit);
  wire.value(it.count);
  fields(wire, it.result);
  wire.list(it.operands, kEach);
}

template <typename Wire>
void fields(Wire& wire, ExecutionShadow& it) {
  wire.list(it.divergence, kEach);
  wire.list(it.origin, kEach);
  wire.list(it.other_decision, kEach);
  wire.list(it.slice, kEach);
  wire.value(it.other_decisions);
  wire.value(it.close_roundings);
  wire.value(it.complete);
}

template <typename Wire>
void fields(Wire& wire, ExecutionPlan& it) {
  wire.value(it.arena);
  wire.value(it.module_key);
  wire.value(it.module_name);
  wire.list(it.tensors, kEach);
  wire.list(it.launches, kEach);
  wire.value(it.runs);
  wire.value(it.deterministic);
  wire.value(it.timeout_ms);
  wire.value(it.memory_limit_bytes);
  wire.list(it.sanitize, kEach);
  wire.value(it.profile);
  wire.value(it.primer);
  wire.value(it.fresh_module);
  wire.value(it.coverage);
  wire.value(it.coverage_lines);
  fields(wire, it.shadow);
  wire.value(it.order_seed);
  wire.choice(it.first_order, kInterleavings);
  wire.value(it.huge_ms);
}

template <typename Wire>
void fields(Wire& wire, HarnessFinding& it) {
  wire.choice(it.kind, kFindingKinds);
  wire.value(it.tensor);
  wire.value(it.first_index);
  wire.value(it.count);
  wire.value(it.message);
}

template <typename Wire>
void fields(Wire& wire, DeviceFinding& it) {
  wire.value(it.kind);
  wire.value(it.message);
  wire.value(it.entry);
  wire.value(it.file);
  wire.value(it.line);
  wire.value(it.other_file);
  wire.value(it.other_line);
  wire.value(it.other_ptx_line);
  wire.value(it.ptx_line);
  wire.value(it.instruction);
  fields(wire, it.block);
  fields(wire, it.thread);
  wire.value(it.tensor);
  wire.value(it.byte_offset);
  wire.value(it.count);
}

template <typename Wire>
void fields(Wire& wire, LineCount& it) {
  wire.value(it.file);
  wire.value(it.line);
  wire.value(it.instructions);
  wire.value(it.count.warps);
  wire.value(it.count.threads);
  wire.value(it.count.divergent);
  MemoryCount& memory = it.count.memory;
  wire.value(memory.global_requests);
  wire.value(memory.global_bytes);
  wire.value(memory.sectors);
  wire.value(memory.lines);
  wire.value(memory.shared_requests);
  wire.value(memory.wavefronts);
  wire.value(memory.bank_conflicts);
}

template <typename Wire>
void fields(Wire& wire, ReachedBlock& it) {
  wire.value(it.id);
  wire.value(it.threads);
}

template <typename Wire>
void fields(Wire& wire, ReachedEdge& it) {
  wire.value(it.id);
  wire.value(it.file);
  wire.value(it.line);
  wire.value(it.is_branch);
  wire.value(it.branch);
  wire.value(it.way);
  wire.value(it.to_line);
  wire.value(it.warps);
  wire.value(it.threads);
}

template <typename Wire>
void fields(Wire& wire, Reached& it) {
  wire.value(it.warps);
  wire.list(it.lines, kEach);
  wire.list(it.blocks, kEach);
  wire.list(it.edges, kEach);
}

template <typename Wire>
void fields(Wire& wire, ExecutionReport& it) {
  wire.list(it.harness, kEach);
  wire.list(it.device, kEach);
  wire.value(it.thread_instructions);
  wire.value(it.elapsed_ns);
  wire.list(it.printed, kEach);
  wire.list(it.lines, kEach);
  fields(wire, it.reached);
  fields(wire, it.shadow);
}

template <typename Wire>
void fields(Wire& wire, ModuleText& it) {
  wire.value(it.key);
  wire.value(it.name);
  wire.value(it.ptx);
}

template <typename Wire>
void fields(Wire& wire, std::vector<EntryInfo>& it) {
  wire.list(it, kEach);
}

template <typename Wire>
void fields(Wire& wire, Error& it) {
  wire.choice(it.code, kErrorCodes);
  wire.value(it.message);
}

}  // namespace wire

namespace {

/// The writer names members without changing them; the copy lets one description serve both.
template <typename T>
std::vector<std::byte> encode(MessageKind kind, T record) {
  wire::Writer out;
  auto number = static_cast<uint8_t>(kind);
  out.value(number);
  fields(out, record);
  return out.take();
}

template <typename T>
Result<T> decode(ByteReader& in) {
  T record;
  wire::Reader reader(in);
  fields(reader, record);
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

Result<MessageKind> decode_kind(ByteReader& in) {
  const auto number = GPUEMU_TRY(in.read<uint8_t>());
  if (number >= wire::kMessageKinds) {
    return error(ErrorCode::Corruption, "message: kind {}, expected below {}", number,
                 wire::kMessageKinds);
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

Error decode_failure(ByteReader& in) {
  Error failure;
  wire::Reader reader(in);
  fields(reader, failure);
  const Status read = reader.end();
  return read ? failure : read.error();
}

}  // namespace gpuemu
