// Converts metrics of compiled kernels to stored bytes, and back.
#include "daemon/records/flat.h"
#include "daemon/records/values.h"

namespace gpuemu::storage {
namespace {

/// How often each thing occurs, by name.
using Counts = std::map<std::string, uint32_t>;

using StoredCounts = std::vector<std::unique_ptr<stored::CountT>>;

StoredCounts pack(const Counts& counts) {
  StoredCounts all;
  for (const auto& [name, number] : counts) {
    all.push_back(std::make_unique<stored::CountT>());
    all.back()->name = name;
    all.back()->number = number;
  }
  return all;
}

Counts unpack(const StoredCounts& counts) {
  Counts all;
  for (const auto& count : counts) all[count->name] = count->number;
  return all;
}

std::unique_ptr<stored::PtxT> pack(const PtxMetrics& from) {
  auto to = std::make_unique<stored::PtxT>();
  to->entry = from.entry;
  to->target = from.target;
  to->source_file = from.source_file;
  to->source_line = from.source_line;
  to->registers = pack(from.registers);
  to->instructions = from.instructions;
  to->classes = pack(from.classes);
  to->loads = pack(from.loads);
  to->stores = pack(from.stores);
  to->special_functions = pack(from.special_functions);
  to->barriers = from.barriers;
  to->atomics = from.atomics;
  to->tensor_ops = from.tensor_ops;
  to->ftz = from.ftz;
  to->approx = from.approx;
  to->branches = from.branches;
  to->divergent_branches = from.divergent_branches;
  to->loops = from.loops;
  to->loop_depth = from.loop_depth;
  to->back_edges = from.back_edges;
  to->shared_bytes = from.shared_bytes;
  to->local_bytes = from.local_bytes;
  to->const_bytes = from.const_bytes;
  to->dynamic_shared = from.dynamic_shared;
  to->constants = pack(from.constants);
  for (const EntryParam& param : from.params) {
    to->params.push_back(std::make_unique<stored::ParamT>());
    to->params.back()->name = param.name;
    to->params.back()->type = param.type;
    to->params.back()->bytes = param.bytes;
  }
  return to;
}

PtxMetrics unpack(const stored::PtxT& from) {
  PtxMetrics to;
  to.entry = from.entry;
  to.target = from.target;
  to.source_file = from.source_file;
  to.source_line = from.source_line;
  to.registers = unpack(from.registers);
  to.instructions = from.instructions;
  to.classes = unpack(from.classes);
  to.loads = unpack(from.loads);
  to.stores = unpack(from.stores);
  to.special_functions = unpack(from.special_functions);
  to.barriers = from.barriers;
  to.atomics = from.atomics;
  to.tensor_ops = from.tensor_ops;
  to.ftz = from.ftz;
  to.approx = from.approx;
  to.branches = from.branches;
  to.divergent_branches = from.divergent_branches;
  to.loops = from.loops;
  to.loop_depth = from.loop_depth;
  to.back_edges = from.back_edges;
  to.shared_bytes = from.shared_bytes;
  to.local_bytes = from.local_bytes;
  to.const_bytes = from.const_bytes;
  to.dynamic_shared = from.dynamic_shared;
  to.constants = unpack(from.constants);
  for (const auto& param : from.params) {
    to.params.push_back({param->name, param->type, param->bytes});
  }
  return to;
}

std::unique_ptr<stored::CompiledT> pack(const CompiledMetrics& from) {
  auto to = std::make_unique<stored::CompiledT>();
  to->arch = from.arch;
  to->registers = from.registers;
  to->stack_bytes = from.stack_bytes;
  to->spill_store_bytes = from.spill_store_bytes;
  to->spill_load_bytes = from.spill_load_bytes;
  to->barriers = from.barriers;
  to->shared_bytes = from.shared_bytes;
  to->constant_bytes = pack(from.constant_bytes);
  to->sass_instructions = from.sass_instructions;
  to->sass_classes = pack(from.sass_classes);
  to->sass_control = pack(from.sass_control);
  if (!from.occupancy) return to;
  to->occupancy = std::make_unique<stored::OccupancyT>();
  to->occupancy->threads = from.occupancy->threads;
  to->occupancy->dynamic_shared_bytes = from.occupancy->dynamic_shared_bytes;
  to->occupancy->blocks = from.occupancy->blocks;
  to->occupancy->warps = from.occupancy->warps;
  to->occupancy->warps_max = from.occupancy->warps_max;
  to->occupancy->fraction = from.occupancy->fraction;
  to->occupancy->limiter = name_of(from.occupancy->limiter);
  return to;
}

CompiledMetrics unpack(const stored::CompiledT& from) {
  CompiledMetrics to;
  to.arch = from.arch;
  to.registers = from.registers;
  to.stack_bytes = from.stack_bytes;
  to.spill_store_bytes = from.spill_store_bytes;
  to.spill_load_bytes = from.spill_load_bytes;
  to.barriers = from.barriers;
  to.shared_bytes = from.shared_bytes;
  to.constant_bytes = unpack(from.constant_bytes);
  to.sass_instructions = from.sass_instructions;
  to.sass_classes = unpack(from.sass_classes);
  to.sass_control = unpack(from.sass_control);
  if (const auto& given = from.occupancy) {
    to.occupancy = {given->threads,
                    given->dynamic_shared_bytes,
                    given->blocks,
                    given->warps,
                    given->warps_max,
                    given->fraction,
                    occupancy_limiter_from_name(given->limiter).value_or(OccupancyLimiter())};
  }
  return to;
}

}  // namespace

std::string encode_artifact(const ArtifactMetrics& metrics) {
  stored::ArtifactT to;
  to.kernel_name = metrics.kernel_name;
  to.register_count = metrics.register_count;
  to.spill_count = metrics.spill_count;
  to.local_memory_bytes = metrics.local_memory_bytes;
  to.shared_memory_bytes = metrics.shared_memory_bytes;
  to.instruction_count = metrics.instruction_count;
  to.patterns_found = metrics.patterns_found;
  to.source = static_cast<uint8_t>(metrics.source);
  to.timestamp = metrics.timestamp;
  to.last_seen = metrics.last_seen;
  to.has_ptx = metrics.ptx_content.has_value();
  to.ptx_content = metrics.ptx_content.value_or("");
  if (metrics.ptx) to.ptx = pack(*metrics.ptx);
  for (const CompiledMetrics& compiled : metrics.compiled) to.compiled.push_back(pack(compiled));
  return finish<stored::Artifact>(to);
}

Result<ArtifactMetrics> decode_artifact(std::string_view bytes) {
  const Record<stored::Artifact> root = GPUEMU_TRY(record_of<stored::Artifact>(bytes));
  stored::ArtifactT from;
  root->UnPackTo(&from);
  ArtifactMetrics metrics;
  metrics.kernel_name = from.kernel_name;
  metrics.register_count = from.register_count;
  metrics.spill_count = from.spill_count;
  metrics.local_memory_bytes = from.local_memory_bytes;
  metrics.shared_memory_bytes = from.shared_memory_bytes;
  metrics.instruction_count = from.instruction_count;
  metrics.patterns_found = from.patterns_found;
  metrics.source = GPUEMU_TRY(enum_of(from.source, ArtifactSource::Both));
  metrics.timestamp = from.timestamp;
  metrics.last_seen = from.last_seen;
  if (from.has_ptx) metrics.ptx_content = from.ptx_content;
  if (from.ptx) metrics.ptx = unpack(*from.ptx);
  for (const auto& compiled : from.compiled) metrics.compiled.push_back(unpack(*compiled));
  return metrics;
}

}  // namespace gpuemu::storage
