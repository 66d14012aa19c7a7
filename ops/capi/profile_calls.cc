// C interface: the profiler.
#include "common/base/files.h"
#include "ops/capi/context.h"
#include "ops/capi/json_text.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::refuse;

namespace {

/// Returns the running profiler, which stays valid while the caller holds it, even if the profile
/// ends.
std::shared_ptr<gpuemu::Profiler> running(gpuemu_context* context) {
  if (context == nullptr || !context->is_profiling) return nullptr;
  const std::shared_lock lock(context->mutex);
  return context->profiler;
}

std::shared_ptr<gpuemu::Profiler> replace(gpuemu_context& context,
                                          std::shared_ptr<gpuemu::Profiler> profiler) {
  const std::unique_lock lock(context.mutex);
  context.is_profiling = profiler != nullptr;
  context.profiler.swap(profiler);
  return profiler;
}

/// Keeps the result for gpuemu_profile_json(). Restores the device checks chosen by the caller,
/// because counters use others.
void keep_profile(gpuemu_context& context, const gpuemu::ProfileResult& result,
                  const gpuemu::opcall::MemoryProfile& memory) {
  std::string json = gpuemu::opcall::profile_json(result, memory);
  const std::unique_lock lock(context.mutex);
  context.last_profile = std::move(json);
  context.streams->set_checks({.sanitize = context.checks});
}

}  // namespace

extern "C" {

gpuemu_code gpuemu_profile_start(gpuemu_context* context, uint32_t counters) {
  if (!is_usable(context)) return refuse(context);
  if (running(context) != nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "a profile is running already; gpuemu_profile_stop() ends it"));
  }
  auto made = gpuemu::Profiler::create(*context->device, {.counters = counters != 0});
  if (!made) return answer(made.error());
  gpuemu::opcall::begin_memory_profile(*context);
  context->dispatcher->set_profiler(made->get());
  replace(*context, *std::move(made));
  return GPUEMU_OK;
}

gpuemu_code gpuemu_profile_stop(gpuemu_context* context, const char* trace_file,
                                const char* statistics_file) {
  if (!is_usable(context)) return refuse(context);
  const std::shared_ptr<gpuemu::Profiler> profiler = replace(*context, nullptr);
  if (profiler == nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "no profile is running; gpuemu_profile_start() begins one"));
  }
  context->dispatcher->set_profiler(nullptr);
  auto result = profiler->stop();
  gpuemu::opcall::MemoryProfile memory = gpuemu::opcall::end_memory_profile(*context);
  if (!result) return answer(result.error());
  result->memory = memory.samples;
  keep_profile(*context, *result, memory);
  for (const std::string& note : result->notes) fmt::print(stderr, "gpuemu: {}\n", note);
  if (trace_file != nullptr) {
    const gpuemu::Status written = gpuemu::write_file(trace_file, result->chrome_trace());
    if (!written) return answer(written);
  }
  if (statistics_file == nullptr) return GPUEMU_OK;
  return answer(gpuemu::write_file(statistics_file, result->json()));
}

gpuemu_code gpuemu_profile_json(gpuemu_context* context, char* to, size_t room, size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  std::string text;
  {
    const std::shared_lock lock(context->mutex);
    text = context->last_profile;
  }
  if (text.empty()) {
    return answer(gpuemu::error(gpuemu::ErrorCode::NotFound,
                                "no profile was stopped yet; gpuemu_profile_start() begins one"));
  }
  return gpuemu::opcall::give_text(text, to, room, bytes);
}

void gpuemu_range_begin(gpuemu_context* context, const char* name) {
  if (const auto profiler = running(context); profiler != nullptr && name != nullptr) {
    profiler->begin_range(name);
  }
}

void gpuemu_range_end(gpuemu_context* context) {
  if (const auto profiler = running(context)) profiler->end_range();
}

}  // extern "C"
