// C interface: contexts, and the last error of each thread.
#include "ops/capi/context.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "ops/capi/device_info.h"
#include "ops/capi/json_text.h"
#include "runtime/backends/backends.h"

namespace gpuemu::opcall {
namespace {

std::string& message() {
  thread_local std::string text;
  return text;
}

// The C codes are the C++ ones in the same order, plus one.
static_assert(GPUEMU_INVALID_ARGUMENT == static_cast<int>(ErrorCode::InvalidArgument) + 1);
static_assert(GPUEMU_STREAM_PER_THREAD == kPerThreadStream);
static_assert(GPUEMU_INTERNAL == static_cast<int>(ErrorCode::Internal) + 1);

constexpr const char* kCodeNames[] = {"GPUEMU_OK",          "GPUEMU_INVALID_ARGUMENT",
                                      "GPUEMU_NOT_FOUND",   "GPUEMU_CORRUPTION",
                                      "GPUEMU_UNSUPPORTED", "GPUEMU_UNAVAILABLE",
                                      "GPUEMU_TIMEOUT",     "GPUEMU_RESOURCE_EXHAUSTED",
                                      "GPUEMU_IO",          "GPUEMU_COMPILE",
                                      "GPUEMU_LAUNCH",      "GPUEMU_CANCELLED",
                                      "GPUEMU_INTERNAL"};

/// Larger guards would take most of the memory.
constexpr uint64_t kGuardBytesMax = uint64_t{1} << 20;

/// All contexts ever created. Never destroyed, because threads may be in calls when the process
/// ends.
struct Contexts {
  std::shared_mutex mutex;  ///< Locked before the mutex of a context.
  std::set<gpuemu_context*> live;
  std::vector<gpuemu_context*> destroyed;  ///< Their remains, kept until the process ends.
};
Contexts& contexts() {
  static auto* const kAll = new Contexts;
  return *kAll;
}

/// Returns the properties of another context's device that owns memory at the address; null if none
/// is known. Contexts of one GPU share its memory, those of the emulator do not.
const DeviceProperties* other_owner(const gpuemu_context& context, uint64_t address) {
  const DeviceProperties& own = context.device->properties();
  const std::shared_lock lock(contexts().mutex);
  for (gpuemu_context* other : contexts().live) {
    const DeviceProperties& device = other->device->properties();
    if (other == &context) continue;
    if (!own.checks_bounds && device.backend == own.backend && device.index == own.index) continue;
    const std::shared_lock reading(other->mutex);
    const auto after = other->allocations.upper_bound(address);
    if (after == other->allocations.begin()) continue;
    const auto& [begin, allocation] = *std::prev(after);
    if (address - begin < allocation.bytes) return &device;
  }
  return nullptr;
}

/// Splits at commas.
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Result<std::unique_ptr<gpuemu_context>> create(const gpuemu_options& options) {
  if (options.guard_bytes > kGuardBytesMax) {
    return error(ErrorCode::InvalidArgument, "options.guard_bytes is {}, the limit is {}",
                 options.guard_bytes, kGuardBytesMax);
  }
  DeviceRequest request;
  if (options.backend != nullptr) request.backend = options.backend;
  request.index = options.device;
  request.sm = options.sm;
  request.threads = options.threads;
  request.schedule_seed = options.schedule_seed;
  const uint64_t limit = options.memory_limit_bytes;
  request.memory_limit_bytes = limit == 0 ? kNoMemoryLimit : limit;
  auto context = std::make_unique<gpuemu_context>();
  context->device = GPUEMU_TRY(open_device(request));
  context->streams = GPUEMU_TRY(context->device->streams());
  if (!context->device->properties().checks_bounds) {
    context->pool = std::make_unique<Pool>(
        device_memory(*context->device),
        PoolOptions{.limit_bytes = request.memory_limit_bytes, .guard_bytes = options.guard_bytes});
  }
  context->registry = OpRegistry::with_builtins();
  DispatchOptions dispatch;
  if (options.folder != nullptr) dispatch.folder = options.folder;
  if (options.policy != nullptr) {
    dispatch.policy = GPUEMU_TRY(load_policy(options.policy, context->registry));
  }
  dispatch.warn = [](const std::string& text) { fmt::print(stderr, "gpuemu: {}\n", text); };
  context->dispatcher =
      GPUEMU_TRY(Dispatcher::create(*context->device, context->registry, std::move(dispatch)));
  return context;
}

}  // namespace

gpuemu_code answer(const Error& failure) {
  message() = failure.message;
  return static_cast<gpuemu_code>(static_cast<int>(failure.code) + 1);
}

const char* last_error() { return message().c_str(); }

gpuemu_code refuse(const gpuemu_context* context) {
  if (context == nullptr) return missing("context");
  return answer(error(ErrorCode::InvalidArgument, "the context was destroyed"));
}

gpuemu_code missing(const char* argument) {
  return answer(error(ErrorCode::InvalidArgument, "{} is NULL", argument));
}

}  // namespace gpuemu::opcall

const gpuemu_context::Adopted* gpuemu_context::adopted_at(uint64_t address, uint64_t bytes) const {
  // Extents may be nested, so the nearest start does not always contain the range.
  for (auto one = adopted.upper_bound(address); one != adopted.begin();) {
    --one;
    const uint64_t offset = address - one->first;
    if (offset <= one->second.bytes && bytes <= one->second.bytes - offset) return &one->second;
  }
  return nullptr;
}

bool gpuemu_context::holds(std::span<const Use> uses) {
  const std::shared_lock lock(mutex);
  return std::ranges::all_of(uses, [this](const Use& use) {
    if (use.writes && !adopted.empty()) return false;
    const auto after = allocations.upper_bound(use.address);
    if (after == allocations.begin()) return false;
    const auto& [begin, allocation] = *std::prev(after);
    const uint64_t offset = use.address - begin;
    return offset < allocation.bytes && use.bytes <= allocation.bytes - offset;
  });
}

gpuemu::Status gpuemu_context::check_writable(const char* what, uint64_t address, uint64_t bytes) {
  const std::shared_lock lock(mutex);
  const Adopted* const found = adopted_at(address, bytes);
  if (found == nullptr || !found->is_readonly) return gpuemu::ok_status();
  return gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                       "{} is in memory that was adopted for reading alone; an output is written",
                       what);
}

gpuemu::Status gpuemu_context::check_range(const char* what, uint64_t address, uint64_t bytes) {
  if (bytes == 0) return gpuemu::ok_status();
  {
    const std::shared_lock lock(mutex);
    if (adopted_at(address, bytes) != nullptr) return gpuemu::ok_status();
    const auto after = allocations.upper_bound(address);
    if (after != allocations.begin()) {
      const auto& [begin, allocation] = *std::prev(after);
      const uint64_t size = allocation.bytes;
      if (address - begin < size) {
        if (bytes <= size - (address - begin)) return gpuemu::ok_status();
        return gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                             "{} needs {} bytes at {:#x}, its allocation has {} left", what, bytes,
                             address, size - (address - begin));
      }
    }
  }
  // A GPU that accessed it would fault and be lost.
  const gpuemu::DeviceProperties& own = device->properties();
  if (const auto* const owner = gpuemu::opcall::other_owner(*this, address)) {
    const bool is_same = owner->backend == own.backend && owner->index == own.index;
    return gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                         "{} lies at {:#x}, which is memory of {} device {}; this context has {} "
                         "device {}{}: copy it through the host",
                         what, address, owner->backend, owner->index, own.backend, own.index,
                         is_same ? " too, and other memory" : "");
  }
  // On a GPU other libraries allocate memory too; on the emulator all memory is known.
  if (!device->properties().checks_bounds) return gpuemu::ok_status();
  return gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                       "{} lies at {:#x}, which is not in the memory of this device", what,
                       address);
}

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace {

/// Ends with the last member of the first version.
constexpr size_t kOptionsFirst = offsetof(gpuemu_options, folder);

}  // namespace

extern "C" {

uint32_t gpuemu_abi_version(void) { return GPUEMU_ABI_VERSION; }
const char* gpuemu_last_error(void) { return gpuemu::opcall::last_error(); }

const char* gpuemu_code_name(gpuemu_code code) {
  const auto index = static_cast<size_t>(code);
  return index < std::size(gpuemu::opcall::kCodeNames) ? gpuemu::opcall::kCodeNames[index]
                                                       : "unknown code";
}

gpuemu_code gpuemu_context_create(const gpuemu_options* options, gpuemu_context** context) {
  if (context == nullptr) return missing("context");
  *context = nullptr;
  gpuemu_options known{};
  if (options != nullptr) {
    const auto members = gpuemu::opcall::known_members(*options, kOptionsFirst, "options");
    if (!members) return answer(members.error());
    known = *members;
  }
  auto made = gpuemu::opcall::create(known);
  if (!made) return answer(made.error());
  *context = (*std::move(made)).release();
  const std::lock_guard lock(gpuemu::opcall::contexts().mutex);
  gpuemu::opcall::contexts().live.insert(*context);
  return GPUEMU_OK;
}

void gpuemu_context_destroy(gpuemu_context* context) {
  if (context == nullptr || !context->is_live.exchange(false)) return;
  {
    const std::lock_guard lock(gpuemu::opcall::contexts().mutex);
    gpuemu::opcall::contexts().live.erase(context);
    gpuemu::opcall::contexts().destroyed.push_back(context);
  }
  // Errors of work that was not waited for are dropped, because nobody can receive them.
  (void)context->streams->synchronize_all().ok();
  context->dispatcher.reset();
  context->is_profiling = false;
  context->profiler.reset();
  context->pool.reset();
  context->device.reset();
  context->registry = {};
  context->allocations.clear();
  context->graphs.clear();
  context->adopted.clear();
}

gpuemu_code gpuemu_context_device(gpuemu_context* context, gpuemu_device_info* info) {
  if (!is_usable(context)) return refuse(context);
  return gpuemu::opcall::give_device(context->device->properties(), info);
}

gpuemu_code gpuemu_context_synchronize(gpuemu_context* context) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->synchronize_all());
}

gpuemu_code gpuemu_checks_set(gpuemu_context* context, const char* names) {
  if (!is_usable(context)) return refuse(context);
  if (!context->device->properties().checks_bounds) {
    return answer(gpuemu::error(gpuemu::ErrorCode::Unsupported,
                                "the device is '{}': only the emulator checks kernels",
                                context->device->properties().backend));
  }
  gpuemu::DeviceChecks checks = gpuemu::kUsualChecks;
  if (names != nullptr) {
    const auto known = gpuemu::device_checks_from_names(gpuemu::opcall::split_at_commas(names));
    if (!known) return answer(known.error());
    checks = *known;
  }
  const std::unique_lock lock(context->mutex);
  context->checks = checks;
  context->streams->set_checks({.sanitize = checks});
  return GPUEMU_OK;
}

gpuemu_code gpuemu_findings_json(gpuemu_context* context, char* to, size_t room, size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  if (bytes == nullptr) return missing("bytes");
  const std::unique_lock lock(context->mutex);
  // Findings that did not fit are returned by the next call.
  for (gpuemu::DeviceFinding& one : context->streams->take_findings()) {
    if (context->findings.size() == gpuemu::kFindingsMax) break;
    context->findings.push_back(std::move(one));
  }
  const std::string text = gpuemu::opcall::findings_json(context->findings);
  const gpuemu_code given = gpuemu::opcall::give_text(text, to, room, bytes);
  if (given == GPUEMU_OK) context->findings.clear();
  return given;
}

gpuemu_code gpuemu_policy_set(gpuemu_context* context, const char* json) {
  if (!is_usable(context)) return refuse(context);
  if (json == nullptr) return missing("json");
  auto policy = gpuemu::policy_from_json(json, "policy", context->registry);
  if (!policy) return answer(policy.error());
  context->dispatcher->set_policy(*std::move(policy));
  return GPUEMU_OK;
}

gpuemu_code gpuemu_policy_json(gpuemu_context* context, char* to, size_t room, size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  return gpuemu::opcall::give_text(context->dispatcher->policy_json(), to, room, bytes);
}

gpuemu_code gpuemu_context_set_policy(gpuemu_context* context, const char* policy) {
  if (!is_usable(context)) return refuse(context);
  gpuemu::DispatchPolicy chosen;
  if (policy != nullptr) {
    auto loaded = gpuemu::load_policy(policy, context->registry);
    if (!loaded) return answer(loaded.error());
    chosen = *std::move(loaded);
  }
  context->dispatcher->set_policy(std::move(chosen));
  return GPUEMU_OK;
}

}  // extern "C"
