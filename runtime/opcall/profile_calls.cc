// The profiler for C.
#include "common/base/files.h"
#include "runtime/opcall/context.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::missing;

extern "C" {

gpuemu_code gpuemu_profile_start(gpuemu_context* context, uint32_t counters) {
  if (context == nullptr) return missing("context");
  if (context->profiler != nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "a profile is running already; gpuemu_profile_stop() ends it"));
  }
  auto made = gpuemu::Profiler::create(*context->device, {.counters = counters != 0});
  if (!made) return answer(made.error());
  context->profiler = *std::move(made);
  context->dispatcher->set_profiler(context->profiler.get());
  return GPUEMU_OK;
}

gpuemu_code gpuemu_profile_stop(gpuemu_context* context, const char* trace_file,
                                const char* statistics_file) {
  if (context == nullptr) return missing("context");
  if (context->profiler == nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "no profile is running; gpuemu_profile_start() begins one"));
  }
  context->dispatcher->set_profiler(nullptr);
  const auto result = context->profiler->stop();
  context->profiler.reset();
  if (!result) return answer(result.error());
  if (trace_file != nullptr) {
    const gpuemu::Status written = gpuemu::write_file(trace_file, result->chrome_trace());
    if (!written) return answer(written);
  }
  if (statistics_file == nullptr) return GPUEMU_OK;
  return answer(gpuemu::write_file(statistics_file, result->json()));
}

void gpuemu_range_begin(gpuemu_context* context, const char* name) {
  if (context == nullptr || context->profiler == nullptr || name == nullptr) return;
  context->profiler->begin_range(name);
}

void gpuemu_range_end(gpuemu_context* context) {
  if (context == nullptr || context->profiler == nullptr) return;
  context->profiler->end_range();
}

}  // extern "C"
