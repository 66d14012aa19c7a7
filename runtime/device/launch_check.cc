// Launch checks shared by every backend, so that messages are the same wherever a kernel runs.
#include "runtime/device/launch_check.h"

#include <algorithm>
#include <numeric>

#include "common/base/limits.h"
#include "common/base/text.h"
#include "runtime/device/fault.h"

namespace gpuemu {
namespace {

/// Entries that a NotFound message lists; more would not fit on a line.
constexpr size_t kEntriesListedMax = 16;
/// The same on every architecture since Kepler.
constexpr uint32_t kWarpLanes = 32, kRegisterUnit = 8, kRegistersPerThreadMax = 255;

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// Smaller is nearer. Names that contain the requested one (mangled or suffixed forms) come first.
size_t distance(const std::string& have, const std::string& wanted) {
  if (!wanted.empty() && have.find(wanted) != std::string::npos) return 0;
  return 1 + edit_distance(have, wanted);
}

uint64_t threads_of(const Dim3& block) { return uint64_t{block.x} * block.y * block.z; }

/// Registers are allocated per warp, in units of eight for all its lanes.
uint64_t registers_of_block(uint32_t registers, const LaunchShape& shape) {
  const uint64_t warps = (threads_of(shape.block) + kWarpLanes - 1) / kWarpLanes;
  const uint64_t rounded =
      (uint64_t{registers} + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  return warps * kWarpLanes * rounded;
}

Status check_block(const EntryInfo& entry, const Dim3& block) {
  const uint64_t threads = threads_of(block);
  const bool too_big = block.x > kThreadsPerBlockMax || block.y > kThreadsPerBlockMax ||
                       block.z > kBlockZMax || threads > kThreadsPerBlockMax;
  if (block.x == 0 || block.y == 0 || block.z == 0 || too_big) {
    return error(
        ErrorCode::InvalidArgument,
        "block {} of entry '{}' is not allowed: each of x, y, z must be at least 1, z at most "
        "{} and the product at most {}",
        extent_text(block), entry.name, kBlockZMax, kThreadsPerBlockMax);
  }
  const auto& required = entry.required_block;
  if (required[0] != 0) {
    const Dim3 wanted{required[0], std::max(required[1], 1U), std::max(required[2], 1U)};
    if (block != wanted) {
      return error(ErrorCode::InvalidArgument, "block {} of entry '{}': .reqntid demands {}",
                   extent_text(block), entry.name, extent_text(wanted));
    }
  }
  const auto& most = entry.max_block;
  if (most[0] != 0) {
    // .maxntid limits the number of threads (the product), not the shape.
    const uint64_t threads_max = uint64_t{most[0]} * std::max(most[1], 1U) * std::max(most[2], 1U);
    if (threads > threads_max) {
      return error(ErrorCode::InvalidArgument,
                   "block {} of entry '{}' has {} threads: .maxntid (__launch_bounds__) allows {}",
                   extent_text(block), entry.name, threads, threads_max);
    }
  }
  return {};
}

Status check_grid(const EntryInfo& entry, const Dim3& grid) {
  const bool too_big = grid.x > kGridXMax || grid.y > kGridYzMax || grid.z > kGridYzMax;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || too_big) {
    return error(
        ErrorCode::InvalidArgument,
        "grid {} of entry '{}' is not allowed: each of x, y, z must be at least 1, x at most {}, "
        "y and z at most {}",
        extent_text(grid), entry.name, kGridXMax, kGridYzMax);
  }
  return {};
}

/// Returns which host types fit the parameter, for the message about a wrong size.
const char* passed_by(const KernelParam& param) {
  if (param.is_pointer) return " (a pointer or a 64-bit integer)";
  switch (param.bytes) {
    case 1:
      return "; expected i8:, u8: or bool:";
    case 2:
      return "; expected i16:, u16:, f16: or bf16:";
    case 4:
      return "; expected i32:, u32: or f32:";
    case 8:
      return "; expected a tensor, i64:, u64: or f64:";
    default:
      return "";
  }
}

}  // namespace

Result<Dim3> cluster_of(const EntryInfo& entry, const LaunchShape& config) {
  const auto& declared = entry.cluster;
  Dim3 size = config.cluster;
  if (declared[0] != 0) {
    size = {declared[0], std::max(declared[1], 1U), std::max(declared[2], 1U)};
    if (config.cluster.x != 0 && config.cluster != size) {
      return error(ErrorCode::InvalidArgument,
                   "cluster {} of entry '{}': __cluster_dims__ (.reqnctapercluster) demands {}",
                   extent_text(config.cluster), entry.name, extent_text(size));
    }
  } else if (size == Dim3{0, 0, 0}) {
    if (entry.needs_cluster) {
      return error(ErrorCode::InvalidArgument,
                   "entry '{}' wants its cluster from the launch (.explicitcluster); give the "
                   "launch a cluster, or write __cluster_dims__(x, y, z) before the kernel",
                   entry.name);
    }
    return Dim3{1, 1, 1};
  }
  const uint64_t blocks = uint64_t{size.x} * size.y * size.z;
  const uint64_t most = config.allows_large_clusters ? kLargeClusterBlocksMax : kClusterBlocksMax;
  if (blocks == 0 || blocks > most) {
    return error(ErrorCode::InvalidArgument,
                 "cluster {} of entry '{}' is not allowed: each of x, y, z must be at least 1 and "
                 "the product at most {}, which every device with {} can run",
                 extent_text(size), entry.name, most,
                 config.allows_large_clusters ? "large clusters" : "clusters");
  }
  const Dim3& grid = config.grid;
  if (grid.x % size.x != 0 || grid.y % size.y != 0 || grid.z % size.z != 0) {
    return error(ErrorCode::InvalidArgument,
                 "grid {} of entry '{}' is not a multiple of its cluster of {} blocks",
                 extent_text(grid), entry.name, extent_text(size));
  }
  return size;
}

Status check_launch(const EntryInfo& entry, const LaunchConfig& config,
                    const DeviceProperties& properties) {
  GPUEMU_TRY(check_argument_count(entry, config.args.size()));
  for (size_t i = 0; i < config.args.size(); ++i) {
    GPUEMU_TRY(check_argument(entry, i, config.args[i].size()));
  }
  return check_shape(entry, config, properties);
}

Status check_argument_count(const EntryInfo& entry, size_t given) {
  if (given == entry.params.size()) return {};
  return error(ErrorCode::InvalidArgument,
               "entry '{}' takes {}, {} given; give one for each parameter of the kernel, in order",
               entry.name, counted(entry.params.size(), "argument"),
               given == 1 ? "1 is" : fmt::format("{} are", given));
}

Status check_argument(const EntryInfo& entry, size_t index, size_t bytes) {
  const KernelParam& param = entry.params[index];
  if (bytes == param.bytes) return {};
  return error(ErrorCode::InvalidArgument,
               "argument {} of entry '{}' has {} bytes, parameter '{}' has {}{}", index + 1,
               entry.name, bytes, param.name, param.bytes, passed_by(param));
}

Status check_shape(const EntryInfo& entry, const LaunchShape& config,
                   const DeviceProperties& properties) {
  GPUEMU_TRY(check_block(entry, config.block));
  GPUEMU_TRY(check_grid(entry, config.grid));
  GPUEMU_TRY(cluster_of(entry, config));
  if (entry.static_shared_bytes > kStaticSharedMax) {
    return error(ErrorCode::InvalidArgument,
                 "entry '{}' declares {} bytes of shared memory, at most {} may be static; declare "
                 "it extern and give its size with the launch",
                 entry.name, entry.static_shared_bytes, kStaticSharedMax);
  }
  const uint64_t shared = uint64_t{entry.static_shared_bytes} + config.dynamic_shared_bytes;
  if (shared > properties.shared_bytes_per_block_max) {
    return error(
        ErrorCode::InvalidArgument,
        "entry '{}' needs {} bytes of shared memory ({} static, {} dynamic), a block of {} has "
        "at most {}",
        entry.name, shared, entry.static_shared_bytes, config.dynamic_shared_bytes, properties.name,
        properties.shared_bytes_per_block_max);
  }
  return {};
}

bool may_lack_registers(const EntryInfo& entry, const LaunchShape& shape,
                        const DeviceProperties& properties) {
  // With .reqntid or .maxntid the compiler keeps register use low enough, and larger blocks are
  // refused.
  if (entry.required_block[0] != 0 || entry.max_block[0] != 0) return false;
  return registers_of_block(kRegistersPerThreadMax, shape) > properties.registers_per_block;
}

Status check_registers(const std::string& entry, int registers, const LaunchShape& shape,
                       const DeviceProperties& properties) {
  const uint64_t needed = registers_of_block(static_cast<uint32_t>(registers), shape);
  if (needed <= properties.registers_per_block) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "entry '{}' with a block of {} threads needs more registers than a multiprocessor "
               "has: {} for each thread, {} together, and {} has {}; use a smaller block or "
               "__launch_bounds__",
               entry, threads_of(shape.block), registers, needed, properties.name,
               properties.registers_per_block);
}

Result<EntryInfo> find_entry(const std::vector<EntryInfo>& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &EntryInfo::name);
  if (found != entries.end()) return *found;
  if (entries.empty()) {
    return error(ErrorCode::NotFound,
                 "no entry '{}': the module has no entries; declare it __global__ (.entry)", name);
  }
  std::vector<std::pair<size_t, std::string>> names;
  for (const EntryInfo& entry : entries) names.emplace_back(distance(entry.name, name), entry.name);
  std::ranges::stable_sort(names, {}, &std::pair<size_t, std::string>::first);
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kEntriesListedMax); ++i) {
    list += (i == 0 ? "" : ", ") + names[i].second;
  }
  if (names.size() > kEntriesListedMax) {
    list += fmt::format(" and {} more", names.size() - kEntriesListedMax);
  }
  return error(ErrorCode::NotFound, "no entry '{}'; the module has: {}", name, list);
}

}  // namespace gpuemu
