// Implements cuLaunchKernel and its variants.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "bindings/libcuda/calls/launches.h"
#include "bindings/libcuda/calls/occupancy.h"
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/modules.h"
#include "common/base/limits.h"
#include "runtime/device/launch_check.h"

namespace gpuemu::libcuda {
namespace {

/// Returns the buffer that `extra` passes, and its size; nullptr when it passes none.
const std::byte* buffer_of(void** extra, size_t& bytes) {
  const std::byte* buffer = nullptr;
  bytes = 0;
  for (size_t i = 0; extra != nullptr && reinterpret_cast<uintptr_t>(extra[i]) != kExtraEnd;
       i += 2) {
    const auto what = reinterpret_cast<uintptr_t>(extra[i]);
    if (what == kExtraBuffer) buffer = static_cast<const std::byte*>(extra[i + 1]);
    if (what == kExtraBytes) bytes = *static_cast<const size_t*>(extra[i + 1]);
  }
  return buffer;
}

int collect(const EntryInfo& info, LaunchArguments given, std::vector<KernelArg>& args) {
  if (given.each != nullptr && given.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (info.params.empty()) return CUDA_SUCCESS;
  size_t bytes = 0;
  const std::byte* const buffer = given.each == nullptr ? buffer_of(given.extra, bytes) : nullptr;
  if (given.each == nullptr && buffer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < info.params.size(); ++i) {
    const KernelParam& param = info.params[i];
    if (given.each != nullptr) {
      if (given.each[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      args.push_back({given.each[i], param.bytes});
    } else {
      if (param.offset + param.bytes > bytes) return CUDA_ERROR_INVALID_VALUE;
      args.push_back({buffer + param.offset, param.bytes});
    }
  }
  return CUDA_SUCCESS;
}

/// Returns the shape with what the program set for the function.
LaunchShape shape_for(const FunctionState& function, LaunchShape shape) {
  shape.allows_large_clusters = function.non_portable_cluster != 0;
  return shape;
}

/// Returns whether the cluster has no more blocks than the function may have.
bool is_small_enough(const EntryInfo& entry, const LaunchShape& shape) {
  const auto product = [](uint32_t x, uint32_t y, uint32_t z) {
    return uint64_t{x} * std::max(y, 1u) * std::max(z, 1u);
  };
  const uint64_t blocks = std::max(product(shape.cluster.x, shape.cluster.y, shape.cluster.z),
                                   product(entry.cluster[0], entry.cluster[1], entry.cluster[2]));
  return blocks <= (shape.allows_large_clusters ? kLargeClusterBlocksMax : kClusterBlocksMax);
}

/// Checks the grid, the block and the shared memory of a launch, as a driver does before it reads
/// the arguments.
int check_shape_of(const FunctionState& function, const LaunchShape& shape, bool cooperative) {
  const auto is_empty = [](const Dim3& dim) { return dim.x == 0 || dim.y == 0 || dim.z == 0; };
  if (is_empty(shape.grid) || is_empty(shape.block)) return CUDA_ERROR_INVALID_VALUE;
  const int allowed = function.dynamic_shared_max;
  if (shape.dynamic_shared_bytes > static_cast<uint32_t>(allowed)) return CUDA_ERROR_INVALID_VALUE;
  const DeviceProperties& device =
      process()->devices[static_cast<size_t>(function.device)]->device->properties();
  const LaunchShape allowed_shape = shape_for(function, shape);
  if (!is_small_enough(function.info, allowed_shape)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (!check_shape(function.info, allowed_shape, device)) return CUDA_ERROR_INVALID_VALUE;
  if (!cooperative) return CUDA_SUCCESS;
  const uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const uint64_t threads = uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  return blocks > resident_blocks(function, threads, shape.dynamic_shared_bytes)
             ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
             : CUDA_SUCCESS;
}

/// Returns the arguments that may be addresses, for kernels whose parameter names are those of the
/// author.
std::vector<PointerArgument> pointers_of(const EntryInfo& info, const std::vector<KernelArg>& args,
                                         const CallSite& site) {
  std::vector<PointerArgument> made;
  if (std::string_view(site.call) != kTritonLaunch) return made;
  for (size_t i = 0; i < args.size() && i < info.params.size(); ++i) {
    PointerArgument one{info.params[i].name};
    if (args[i].bytes != sizeof one.value) continue;
    std::memcpy(&one.value, args[i].data, sizeof one.value);
    made.push_back(std::move(one));
  }
  return made;
}

/// Adds the kernel's code to the report at the first launch of a function.
void note_code(Process& driver, const DeviceSlot& slot, FunctionState& function) {
  if (function.was_launched.exchange(true)) return;
  const auto module = driver.modules.find(function.module);
  if (module == nullptr) return;
  driver.forms.launched(function.info.name, module->code, slot.device->properties().sm);
}

struct Order {
  const char* call = "";
  LaunchShape shape;
  Stream stream = nullptr;
  bool cooperative = false;
};

int issue(Process& driver, const Place& place, const StreamLaunch& what) {
  const Status issued = place.slot->streams->launch(place.stream, what);
  if (issued) return CUDA_SUCCESS;
  return issued.error().code == ErrorCode::ResourceExhausted
             ? static_cast<int>(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
             : code_in_stream(driver, place, issued);
}

/// Returns true if an argument contains an address in memory that the host uses, too.
bool may_use_host(const Process& driver, const std::vector<KernelArg>& args) {
  for (const KernelArg& one : args) {
    for (size_t at = 0; at + sizeof(uint64_t) <= one.bytes; at += sizeof(uint64_t)) {
      uint64_t value = 0;
      std::memcpy(&value, static_cast<const std::byte*>(one.data) + at, sizeof value);
      const auto in = value == 0 ? nullptr : driver.allocations.holding(value);
      if (in != nullptr && is_host(in->kind)) return true;
    }
  }
  return false;
}

std::vector<std::vector<std::byte>> copies_of(const std::vector<KernelArg>& args) {
  std::vector<std::vector<std::byte>> made;
  for (const KernelArg& one : args) {
    const auto* const bytes = static_cast<const std::byte*>(one.data);
    made.emplace_back(bytes, bytes + one.bytes);
  }
  return made;
}

int capture(const Place& place, Function function, const Order& order,
            const std::vector<KernelArg>& args) {
  KernelWork work;
  work.function = function;
  work.context = place.context;
  work.shape = order.shape;
  work.is_cooperative = order.cooperative;
  work.priority = place.state->priority;
  work.arguments = copies_of(args);
  return capture_work(place, std::move(work), order.call);
}

int launch(Function function, const Order& order, LaunchArguments given) {
  const CallScope scope(order.call);
  const int done = driver_call([&](Process& driver) -> int {
    const Place place = place_of(order.stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    const Resolved found = resolve(driver, function);
    if (found.code != CUDA_SUCCESS) return found.code;
    FunctionState& state = *found.function;
    if (state.device != place.device) return CUDA_ERROR_INVALID_HANDLE;
    const int shape = check_shape_of(state, order.shape, order.cooperative);
    if (shape != CUDA_SUCCESS) return shape;
    if (const int code = refuse_implicit(driver, place); code != CUDA_SUCCESS) return code;
    std::vector<KernelArg> args;
    if (const int code = collect(state.info, given, args); code != CUDA_SUCCESS) return code;
    if (is_captured(place)) return capture(place, function, order, args);
    StreamLaunch what;
    static_cast<LaunchShape&>(what) = shape_for(state, order.shape);
    what.function = state.id;
    what.args = args;
    const auto site = call_site(order.call);
    driver.recorder.count_kernel(state.info.name, site->test);
    note_code(driver, *place.slot, state);
    what.tag = driver.recorder.launch_begins(place.stream, site, false,
                                             pointers_of(state.info, args, *site));
    const bool uses_host =
        driver.races.follows_host() && (state.has_managed || may_use_host(driver, args));
    what.tells_touched =
        driver.races.launch_begins(what.tag, line_of(place), state.info.name, site, uses_host);
    const bool listens = uses_host && state.info.may_wait_for_host;
    if (listens) {
      const std::lock_guard lock(driver.listening_mutex);
      driver.listening.insert(what.tag);
    }
    const int code = issue(driver, place, what);
    if (code == CUDA_SUCCESS && uses_host) let_finish(driver, place);
    if (code == CUDA_SUCCESS) return code;
    if (listens) {
      const std::lock_guard lock(driver.listening_mutex);
      driver.listening.erase(what.tag);
    }
    driver.races.launch_refused(what.tag);
    driver.recorder.launch_refused(what.tag);
    return code;
  });
  if (done != CUDA_SUCCESS && process() != nullptr) process()->recorder.launch_rejected();
  return done;
}

}  // namespace

int make_kernel_work(Process& driver, const Place& place, KernelWork& work, LaunchArguments given) {
  const Resolved found = resolve(driver, work.function);
  if (found.code != CUDA_SUCCESS) return found.code;
  if (found.function->device != place.device) return CUDA_ERROR_INVALID_HANDLE;
  if (const int code = check_shape_of(*found.function, work.shape, work.is_cooperative);
      code != CUDA_SUCCESS) {
    return code;
  }
  std::vector<KernelArg> args;
  if (const int code = collect(found.function->info, given, args); code != CUDA_SUCCESS) {
    return code;
  }
  work.context = place.context;
  work.arguments = copies_of(args);
  return CUDA_SUCCESS;
}

bool may_use_host(Process& driver, const KernelWork& work) {
  std::vector<KernelArg> args;
  for (const auto& one : work.arguments) args.push_back({one.data(), one.size()});
  const Resolved found = resolve(driver, work.function);
  return (found.function != nullptr && found.function->has_managed) || may_use_host(driver, args);
}

int launch_in_graph(Process& driver, const Place& place, const Node& node, uint64_t& tag) {
  const auto& work = std::get<KernelWork>(node.work);
  const Resolved found = resolve(driver, work.function);
  if (found.code != CUDA_SUCCESS) return found.code;
  FunctionState& state = *found.function;
  if (state.device != place.device) return CUDA_ERROR_INVALID_HANDLE;
  if (const int code = check_shape_of(state, work.shape, work.is_cooperative);
      code != CUDA_SUCCESS) {
    return code;
  }
  std::vector<KernelArg> args;
  for (const auto& one : work.arguments) args.push_back({one.data(), one.size()});
  StreamLaunch what;
  static_cast<LaunchShape&>(what) = shape_for(state, work.shape);
  what.function = state.id;
  what.args = args;
  driver.recorder.count_kernel(state.info.name, node.site->test);
  note_code(driver, *place.slot, state);
  if (tag == 0) {
    tag = driver.recorder.launch_begins(kDefaultStream, node.site, true,
                                        pointers_of(state.info, args, *node.site));
  }
  what.tag = tag;
  what.tells_touched = true;
  return issue(driver, place, what);
}

GPUEMU_DRIVER_API int cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared_bytes, Stream stream,
                                     void** arguments, void** extra) {
  const Order order{
      "cuLaunchKernel",
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared_bytes},
      stream,
      false};
  return launch(function, order, {arguments, extra});
}
GPUEMU_PER_THREAD(cuLaunchKernel, cuLaunchKernel_ptsz)

GPUEMU_DRIVER_API int cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y,
                                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                                unsigned block_z, unsigned shared_bytes,
                                                Stream stream, void** arguments) {
  const Order order{
      "cuLaunchCooperativeKernel",
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared_bytes},
      stream,
      true};
  return launch(function, order, {arguments, nullptr});
}
GPUEMU_PER_THREAD(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz)

GPUEMU_DRIVER_API int cuLaunchKernelEx(const LaunchParameters* what, Function function,
                                       void** arguments, void** extra) {
  if (what == nullptr || (what->attribute_count != 0 && what->attributes == nullptr)) {
    return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  }
  const auto dim = [](const unsigned* of) { return Dim3{of[0], of[1], of[2]}; };
  Order order{"cuLaunchKernelEx",
              {dim(what->grid), dim(what->block), {0, 0, 0}, what->shared_bytes},
              what->stream,
              false};
  for (unsigned i = 0; i < what->attribute_count; ++i) {
    const LaunchAttribute& one = what->attributes[i];
    switch (one.id) {
      case kAttributeCooperative:
        order.cooperative = one.value[0] != 0;
        break;
      case kAttributeCluster:
        order.shape.cluster = dim(one.value);
        break;
      case kAttributeIgnore:
      case kAttributeProgrammaticSerialization:  // Full stream order satisfies it.
      case kAttributePriority:
        break;
      default:
        say_once("attribute " + std::to_string(one.id),
                 "cuLaunchKernelEx ignores launch attribute " + std::to_string(one.id) +
                     ", which is not supported");
    }
  }
  return launch(function, order, {arguments, extra});
}
GPUEMU_PER_THREAD(cuLaunchKernelEx, cuLaunchKernelEx_ptsz)

}  // namespace gpuemu::libcuda
