#include "daemon/measure/prove_accesses.h"

#include <algorithm>

#include <fmt/format.h>

#include "judge/inbounds/configured.h"
#include "judge/inbounds/limits.h"
#include "judge/inbounds/prove.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

const char* name_of_space(ptx::Space space) {
  switch (space) {
    case ptx::Space::Global:
      return "global";
    case ptx::Space::Shared:
      return "shared";
    case ptx::Space::Local:
      return "local";
    case ptx::Space::Const:
      return "const";
    default:
      return "generic";
  }
}

/// Returns every combination of the integer attrs; a single empty one if there are too many.
std::vector<std::map<std::string, int64_t>> combinations_of(const OpConfig& op) {
  std::vector<std::map<std::string, int64_t>> all(1);
  for (const AttrSpec& attr : op.attrs) {
    if (is_float(attr.dtype)) continue;
    if (all.size() * attr.values.size() > inbounds::kAttrCombinationsMax) return {{}};
    std::vector<std::map<std::string, int64_t>> more;
    for (const auto& before : all) {
      for (const double value : attr.values) {
        more.push_back(before);
        more.back()[attr.name] = static_cast<int64_t>(value);
      }
    }
    all = std::move(more);
  }
  return all;
}

std::string text_of(const std::map<std::string, int64_t>& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

ProvedAccess described(const ptx::Module& module, const ptx::Function& entry,
                       const inbounds::Access& access) {
  const ptx::Instruction& instruction = entry.body[access.instruction];
  ProvedAccess bounds;
  bounds.kind = access.kind;
  bounds.space = name_of_space(access.space);
  bounds.tensor = access.region;
  const ptx::SourceLine source = module.outermost(instruction.source);
  if (const auto file = module.files.find(source.file); file != module.files.end()) {
    bounds.file = file->second;
    bounds.line = source.line;
  }
  bounds.ptx_line = instruction.where.line;
  bounds.instruction = instruction.text();
  bounds.proved = access.proved;
  bounds.reason = access.reason;
  bounds.offset = access.offset;
  bounds.extent = access.extent;
  return bounds;
}

/// Proves one launch for all values of the attrs: an access is proved only if it is for each of
/// them.
void prove_launch(const ptx::Module& module, const ptx::Function& entry,
                  const inbounds::Setting& setting, size_t launch, LaunchBounds& bounds) {
  inbounds::Setting one = setting;
  bool looked = false;
  for (const auto& attrs : combinations_of(setting.op)) {
    one.attrs = attrs;
    inbounds::LaunchDomain space = inbounds::launch_domain(one, setting.kernel.launches[launch]);
    if (!space.possible) continue;
    const auto accesses = inbounds::prove_accesses(module, entry, std::move(space));
    const bool first = !looked;
    looked = true;
    for (size_t i = 0; i < accesses.size(); ++i) {
      ProvedAccess access = described(module, entry, accesses[i]);
      if (!access.proved && !attrs.empty()) access.reason += " (with " + text_of(attrs) + ")";
      if (first) {
        bounds.accesses.push_back(std::move(access));
      } else if (bounds.accesses[i].proved && !access.proved) {
        bounds.accesses[i] = std::move(access);
      }
    }
  }
  if (!looked) bounds.error = "supports no case of this dtype";
}

/// Proves one kernel. Compile errors go into the report, so that the other kernels are still
/// checked.
void prove_kernel(KernelStore& kernels, const inbounds::Setting& setting,
                  BoundsReportReply& reply) {
  LaunchBounds bounds{
      .op_name = setting.op.name, .kernel = setting.kernel.name, .dtype = setting.dtype};
  const auto prepared = kernels.prepare(setting.kernel, setting.dtype);
  const auto module = prepared ? ptx::parse((*prepared)->ptx, (*prepared)->name)
                               : Result<ptx::Module>(prepared.error());
  if (!module) {
    bounds.error = module.error().message;
    reply.launches.push_back(std::move(bounds));
    return;
  }
  for (size_t launch = 0; launch < setting.kernel.launches.size(); ++launch) {
    LaunchBounds one = bounds;
    one.launch = static_cast<uint32_t>(launch + 1);
    one.entry = (*prepared)->entries[launch];
    const ptx::Function* entry = module->find(one.entry);
    if (entry == nullptr || !entry->is_entry) {
      one.error = "the PTX has no entry '" + one.entry + "'";
    } else {
      prove_launch(*module, *entry, setting, launch, one);
    }
    reply.total += one.accesses.size();
    reply.proved += static_cast<uint64_t>(
        std::ranges::count_if(one.accesses, [](const auto& access) { return access.proved; }));
    reply.launches.push_back(std::move(one));
  }
}

}  // namespace

Status prove_op(const Config& config, KernelStore& kernels, const OpConfig& op,
                const ProveOptions& options, BoundsReportReply& reply) {
  const auto listed = [](const auto& all, const auto& wanted) {
    return std::ranges::find(all, wanted) != all.end();
  };
  if (!options.kernel.empty() && !listed(op.kernels, options.kernel)) {
    return error(ErrorCode::NotFound, "op '{}' has no kernel '{}', it has {}", op.name,
                 options.kernel, fmt::join(op.kernels, ", "));
  }
  if (options.dtype && !listed(op.dtypes, *options.dtype)) {
    return error(ErrorCode::NotFound, "op '{}' is not tested with {}", op.name,
                 name_of(*options.dtype));
  }
  for (const std::string& name : op.kernels) {
    const KernelConfig* kernel = config.find_kernel(name);
    const bool wanted = options.kernel.empty() || options.kernel == name;
    if (kernel == nullptr || !wanted) continue;
    for (const DType dtype : op.dtypes) {
      if (options.stop()) return ok_status();
      if (options.dtype && *options.dtype != dtype) continue;
      prove_kernel(kernels, {op, *kernel, dtype, {}, config.memory_limit_mb << 20}, reply);
    }
  }
  return ok_status();
}

}  // namespace gpuemu
