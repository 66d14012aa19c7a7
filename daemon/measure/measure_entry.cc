#include "daemon/measure/measure_entry.h"

#include <algorithm>
#include <set>

#include "common/base/clock.h"
#include "judge/metrics/occupancy.h"
#include "judge/metrics/plain_metrics.h"
#include "judge/metrics/ptx_metrics.h"
#include "judge/metrics/ptxas_log.h"
#include "judge/metrics/sass.h"
#include "runtime/compile/machine_code.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

/// Returns the lines of one entry, so that what is counted line by line belongs to this kernel
/// alone. A text with a single kernel is returned whole, as existing tools count it.
std::string_view text_of_entry(const PtxUnit& unit, const ptx::Function& function) {
  const auto& all = unit.module.functions;
  const auto with_body =
      std::ranges::count_if(all, [](const ptx::Function& one) { return !one.is_extern; });
  if (with_body == 1) return unit.text;
  uint32_t end_line = UINT32_MAX;
  for (const ptx::Function& one : all) {
    if (one.where.line > function.where.line) end_line = std::min(end_line, one.where.line);
  }
  std::string_view rest = unit.text;
  size_t begin = 0, end = rest.size();
  uint32_t line = 1;
  for (size_t at = 0; at < rest.size(); ++at) {
    if (line == function.where.line && (at == 0 || rest[at - 1] == '\n')) begin = at;
    if (line == end_line && rest[at - 1] == '\n') {
      end = at;
      break;
    }
    if (rest[at] == '\n') ++line;
  }
  return rest.substr(begin, end - begin);
}

/// Returns the scope with every dim at its largest and every attr at its first value.
Scope largest_case(const OpConfig* op, DType dtype) {
  Scope scope;
  scope.strings["dtype"] = name_of(dtype);
  if (op == nullptr) return scope;
  for (const DimSpec& dim : op->dims) {
    if (!dim.values.empty()) scope.integers[dim.name] = std::ranges::max(dim.values);
  }
  for (const AttrSpec& attr : op->attrs) {
    if (!attr.values.empty()) scope.integers[attr.name] = static_cast<int64_t>(attr.values.front());
  }
  static_cast<void>(add_derived_dims(*op, scope).ok());
  return scope;
}

Result<LaunchFootprint> shape_of(const EntryLaunch& launch, const ptx::Function& function) {
  LaunchFootprint shape{launch.threads, launch.dynamic_shared_bytes};
  if (shape.threads > 0) return shape;
  if (launch.spec != nullptr) {
    const Scope scope = largest_case(launch.op, launch.dtype);
    uint64_t threads = 1;
    for (const Expression& size : launch.spec->block) {
      const auto value = size.evaluate_size(scope);
      if (!value) return value.error().with_context("the block of its launch");
      threads *= static_cast<uint64_t>(std::min<int64_t>(*value, 1 << 16));
    }
    shape.threads = static_cast<uint32_t>(std::min<uint64_t>(threads, UINT32_MAX));
    if (launch.spec->shared) {
      const auto shared = launch.spec->shared->evaluate_size(scope);
      if (!shared) return shared.error().with_context("the shared memory of its launch");
      shape.dynamic_shared_bytes = static_cast<uint64_t>(*shared);
    }
    return shape;
  }
  for (const uint32_t* extent : {function.reqntid, function.maxntid}) {
    if (extent[0] == 0) continue;
    shape.threads = extent[0] * std::max(extent[1], 1U) * std::max(extent[2], 1U);
    return shape;
  }
  return error(ErrorCode::InvalidArgument,
               "no launch is known; give --threads, or list the kernel with its launches");
}

/// Copies the metrics that come from a listing of machine code.
void take_listing(CompiledMetrics& from, CompiledMetrics& to) {
  to.sass_instructions = from.sass_instructions;
  to.sass_classes = std::move(from.sass_classes);
  to.sass_control = std::move(from.sass_control);
}

/// Combines the resources that cuobjdump lists with the machine code of the same kernel.
std::vector<SassKernel> kernels_of(const Disassembled& object) {
  std::vector<SassKernel> kernels = read_sass(object.listing);
  const std::string plain_arch = kernels.empty() ? "" : kernels.front().metrics.arch;
  for (const SassKernel& usage : read_resource_usage(object.resources, plain_arch)) {
    for (SassKernel& kernel : kernels) {
      if (kernel.name != usage.name || kernel.metrics.arch != usage.metrics.arch) continue;
      CompiledMetrics listed = std::exchange(kernel.metrics, usage.metrics);
      take_listing(listed, kernel.metrics);
    }
  }
  return kernels;
}

/// Fills in the fields that existing clients use, as far as machine code provides them.
void fill_plain(const CompiledMetrics& compiled, ArtifactMetrics& metrics) {
  metrics.source = ArtifactSource::Sass;
  metrics.register_count = compiled.registers;
  metrics.local_memory_bytes = compiled.stack_bytes;
  metrics.shared_memory_bytes =
      static_cast<uint32_t>(std::min<uint64_t>(compiled.shared_bytes, UINT32_MAX));
  metrics.instruction_count = compiled.sass_instructions;
  const auto local = compiled.sass_classes.find("local");
  metrics.spill_count = local == compiled.sass_classes.end() ? 0 : local->second;
}

}  // namespace

Result<std::shared_ptr<const PtxUnit>> make_unit(const std::string& ptx, const std::string& name,
                                                 const std::string& arch,
                                                 const std::string& cache_folder) {
  auto unit = std::make_shared<PtxUnit>();
  unit->text = ptx;
  unit->module = GPUEMU_TRY(ptx::parse(ptx, name));
  auto assembled = assemble({.ptx = ptx, .name = name, .arch = arch, .cache_folder = cache_folder});
  if (!assembled) {
    if (assembled.error().code == ErrorCode::Compile) return assembled.error();
    unit->not_compiled = assembled.error().message;
    return std::shared_ptr<const PtxUnit>(std::move(unit));
  }
  unit->compiled = read_ptxas_log(assembled->log);
  for (SassKernel& kernel : read_sass(assembled->listing)) {
    const auto entry = unit->compiled.find(kernel.name);
    if (entry == unit->compiled.end()) continue;
    take_listing(kernel.metrics, entry->second);
    unit->opcodes[kernel.name] = std::move(kernel.mnemonics);
  }
  return std::shared_ptr<const PtxUnit>(std::move(unit));
}

void add_architecture(const PtxUnit& unit, const ptx::Function& function, const std::string& arch,
                      const EntryLaunch& launch, EntryMeasurement& entry) {
  entry.measured.archs.push_back(arch);
  const auto found = unit.compiled.find(function.name);
  if (found == unit.compiled.end()) {
    entry.measured.not_compiled[arch] =
        unit.not_compiled.empty() ? "ptxas said nothing about it" : unit.not_compiled;
    return;
  }
  CompiledMetrics compiled = found->second;
  compiled.arch = arch;
  const auto shape = shape_of(launch, function);
  const auto occupancy = shape ? occupancy_of(compiled, *shape) : Result<Occupancy>(shape.error());
  if (occupancy) {
    compiled.occupancy = *occupancy;
  } else {
    entry.measured.no_occupancy[arch] = occupancy.error().message;
  }
  const auto opcodes = unit.opcodes.find(function.name);
  if (opcodes != unit.opcodes.end()) entry.measured.sass[arch] = opcodes->second;
  entry.compiled.push_back(std::move(compiled));
}

LintResult finish_entry(const EntryMeasurement& entry) {
  LintResult result;
  result.metrics = plain_metrics(text_of_entry(*entry.unit, *entry.function));
  result.metrics.ptx = measure_ptx(entry.unit->module, *entry.function);
  result.metrics.compiled = entry.compiled;
  const bool disassembled = !entry.measured.sass.empty();
  result.metrics.source = disassembled ? ArtifactSource::Both : ArtifactSource::Ptx;
  result.timestamp = result.metrics.timestamp = now_seconds();
  return result;
}

void judge_entry(const Config& config, const KernelConfig* kernel, EntryMeasurement& entry,
                 LintResult& result) {
  entry.measured.module = &entry.unit->module;
  entry.measured.entry = entry.function;
  judge(config, kernel, entry.measured, result);
  for (const std::string& warning : entry.unit->module.warnings) {
    result.not_checked.push_back(warning);
  }
}

Result<std::vector<LintResult>> measure_object(const Config& config, const KernelConfig* kernel,
                                               const std::string& path,
                                               const InspectOptions& options) {
  const Disassembled object = GPUEMU_TRY(disassemble(path));
  std::map<std::string, EntryMeasurement> entries;
  std::vector<SassKernel> kernels = kernels_of(object);
  std::set<std::string> all;
  for (const SassKernel& one : kernels) all.insert(one.name);
  const auto names = readable_names(all);
  for (SassKernel& one : kernels) {
    EntryMeasurement& entry = entries[names.at(one.name)];
    const std::string& arch = one.metrics.arch;
    entry.measured.archs.push_back(arch);
    entry.measured.sass[arch] = std::move(one.mnemonics);
    const auto occupancy =
        options.threads == 0
            ? Result<Occupancy>(
                  error(ErrorCode::InvalidArgument, "no launch is known; give --threads"))
            : occupancy_of(one.metrics, {options.threads, options.dynamic_shared_bytes});
    if (occupancy) one.metrics.occupancy = *occupancy;
    if (!occupancy) entry.measured.no_occupancy[arch] = occupancy.error().message;
    entry.compiled.push_back(std::move(one.metrics));
  }
  if (entries.empty()) {
    return error(
        ErrorCode::Compile,
        "{} has no kernel in machine code; expected a cubin, fatbin, object file or library "
        "that nvcc made for real architectures, as in -arch=sm_80",
        path);
  }
  std::vector<LintResult> results;
  for (auto& [name, entry] : entries) {
    LintResult result;
    result.kernel_name = kernel == nullptr     ? name
                         : entries.size() == 1 ? kernel->name
                                               : fmt::format("{}:{}", kernel->name, name);
    result.source = path;
    result.metrics.kernel_name = result.kernel_name;
    result.metrics.compiled = entry.compiled;
    fill_plain(entry.compiled.front(), result.metrics);
    std::set<std::string> opcodes;
    for (const auto& [arch, listed] : entry.measured.sass) {
      opcodes.insert(listed.begin(), listed.end());
    }
    result.metrics.patterns_found.assign(opcodes.begin(), opcodes.end());
    result.timestamp = result.metrics.timestamp = now_seconds();
    judge(config, kernel, entry.measured, result);
    result.not_checked.push_back("max_spills: machine code alone does not tell spills from arrays");
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace gpuemu
