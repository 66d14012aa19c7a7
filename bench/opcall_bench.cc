// Measures the host time of an op call, compared with a bare launch of the same kernel with the
// same arguments: cuLaunchKernel on a GPU, Streams::launch on the emulator. Both alternate; the
// best round counts.
//   gpuemu_bench_opcall [--backend cuda | emulator = cuda] [--rounds N = 20] [--calls N = 500]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "kernels/catalog.h"
#include "kernels/op.h"
#include "ops/capi/context.h"
#include "ops/dispatch/check_case.h"
#include "ops/dispatch/registry.h"
#include "ops/modules/module_cache.h"
#include "runtime/cuda/driver_api.h"

namespace {
using gpuemu::cuda::Driver;
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int64_t kElements = 1024;

struct Options {
  std::string backend = "cuda";
  int rounds = 20, calls = 500;
};

[[noreturn]] void stop(const std::string& what) {
  std::fprintf(stderr, "gpuemu_bench_opcall: %s\n", what.c_str());
  std::exit(1);
}
void need(gpuemu_code code) {
  if (code != GPUEMU_OK) stop(gpuemu_last_error());
}

/// The call, and the single launch that its variant plans.
struct Work {
  gpuemu_context* context = nullptr;
  gpuemu_stream stream = 0;
  std::array<int64_t, 1> shape = {kElements};
  std::array<gpuemu_tensor, 3> tensors{};
  gpuemu_call call{};
  gpuemu::Plan plan;
  const gpuemu::KernelVariant* variant = nullptr;
  std::string entry;
};

void prepare(Work& work, const std::string& backend) {
  gpuemu_options options{};
  options.struct_bytes = sizeof(options);
  options.backend = backend.c_str();
  options.threads = 1;
  need(gpuemu_context_create(&options, &work.context));
  need(gpuemu_stream_create(work.context, 0, 1, &work.stream));
  for (gpuemu_tensor& tensor : work.tensors) {
    tensor = {nullptr, GPUEMU_FLOAT32, 1, work.shape.data(), nullptr};
    need(gpuemu_memory_allocate(work.context, kElements * 4, &tensor.data));
    need(gpuemu_memory_fill(work.context, tensor.data, 0, kElements * 4, work.stream));
  }
  work.call.struct_bytes = sizeof(work.call);
  need(gpuemu_op_find(work.context, "vector_add", &work.call.op));
  work.call.inputs = work.tensors.data();
  work.call.input_count = 2;
  work.call.outputs = &work.tensors[2];
  work.call.output_count = 1;
  work.call.stream = work.stream;
  const gpuemu::OpKind& op = **work.context->registry.find("vector_add");
  work.variant = gpuemu::by_priority(op)[0];
  const std::array<int64_t, 1> strides = {1};
  std::array<gpuemu::DeviceTensor, 3> views;
  for (size_t i = 0; i < views.size(); ++i) {
    views[i] = {reinterpret_cast<uint64_t>(work.tensors[i].data), gpuemu::DType::Float32,
                work.shape, strides};
  }
  const gpuemu::OpCase c{op, std::span(views).first(2), std::span(views).last(1),
                         gpuemu::Attributes(op.schema, {}), work.context->device->properties()};
  work.variant->plan(c, work.plan);
  if (work.plan.steps().size() != 1) stop("vector_add is more than one launch");
  const auto types = gpuemu::check_case(c);
  work.entry = *gpuemu::entry_name(work.variant->entries[work.plan.steps()[0].entry], *types);
}

/// Only cuLaunchKernel, in the context that the device uses.
std::function<void()> bare_on_cuda(const Work& work) {
  const auto driver = std::make_shared<Driver>(*gpuemu::cuda::load_driver());
  gpuemu::cuda::Context context = nullptr;
  gpuemu::cuda::Module module = nullptr;
  gpuemu::cuda::Function function = nullptr;
  gpuemu::cuda::Stream stream = nullptr;
  const std::string ptx = gpuemu::find_builtin(work.variant->module)->ptx();
  if (driver->cuInit(0) != 0 || driver->cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
      driver->cuCtxSetCurrent(context) != 0 ||
      driver->cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr) != 0 ||
      driver->cuModuleGetFunction(&function, module, work.entry.c_str()) != 0 ||
      driver->cuStreamCreateWithPriority(&stream, 1, 0) != 0) {
    stop("the driver refused to prepare the bare launch");
  }
  const gpuemu::LaunchStep& step = work.plan.steps()[0];
  return [driver, function, stream, &step] {
    std::array<void*, gpuemu::kPlanArgumentsMax> args;
    for (size_t i = 0; i < step.arg_count(); ++i) {
      args[i] = const_cast<std::byte*>(step.argument(i).data());
    }
    if (driver->cuLaunchKernel(function, step.grid.x, step.grid.y, step.grid.z, step.block.x,
                               step.block.y, step.block.z, step.shared_bytes, stream, args.data(),
                               nullptr) != 0) {
      stop("cuLaunchKernel failed");
    }
  };
}

std::function<void()> bare_on_streams(const Work& work) {
  const gpuemu::BuiltinKernel& module = *gpuemu::find_builtin(work.variant->module);
  const auto entry =
      work.context->dispatcher->modules().entry(module.ptx(), std::string(module.file), work.entry);
  if (!entry) stop(entry.error().message);
  return [&work, function = (*entry)->function] {
    const gpuemu::LaunchStep& step = work.plan.steps()[0];
    std::array<gpuemu::KernelArg, gpuemu::kPlanArgumentsMax> args;
    for (size_t i = 0; i < step.arg_count(); ++i) {
      args[i] = {step.argument(i).data(), step.argument(i).size()};
    }
    gpuemu::StreamLaunch launch;
    launch.function = function;
    launch.grid = step.grid;
    launch.block = step.block;
    launch.dynamic_shared_bytes = step.shared_bytes;
    launch.args = std::span(args).first(step.arg_count());
    if (!work.context->streams->launch(work.stream, launch)) stop("a launch failed");
  };
}

/// Returns microseconds per call until all are issued; waits for their work afterwards.
double issue_us(Work& work, const std::function<void()>& call, int calls) {
  const auto begin = steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const auto end = steady_clock::now();
  if (!work.context->streams->synchronize_all()) stop("a kernel failed");
  return duration<double, std::micro>(end - begin).count() / calls;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--backend") options.backend = argv[i + 1];
    if (name == "--rounds") options.rounds = std::atoi(argv[i + 1]);
    if (name == "--calls") options.calls = std::atoi(argv[i + 1]);
  }
  if (options.rounds < 1 || options.calls < 1) stop("--rounds and --calls are 1 or more");
  return options;
}

/// Reports the cost of ranges without a profile, and of a call in a profile.
void report_profile(Work& work, const std::function<void()>& call, const Options& options) {
  const std::function<void()> range = [&] {
    gpuemu_range_begin(work.context, "range");
    gpuemu_range_end(work.context);
  };
  double range_us = 0, before_us = 0, after_us = 0, in_us = 0;
  const auto best_of = [&](double& best, const std::function<void()>& what) {
    const double us = issue_us(work, what, options.calls);
    if (best == 0 || us < best) best = us;
  };
  for (int round = 0; round < options.rounds; ++round) best_of(before_us, call);
  for (int round = 0; round < options.rounds; ++round) {
    need(gpuemu_profile_start(work.context, 0));
    best_of(in_us, call);
    need(gpuemu_profile_stop(work.context, nullptr, nullptr));
    best_of(range_us, range);
    best_of(after_us, call);
  }
  std::printf(
      "no profile: a range takes %.1f ns, %.2f %% of a call; op_call after a profile %.2f times "
      "that "
      "before one, in a profile %.2f times\n",
      range_us * 1e3, 100 * range_us / after_us, after_us / before_us, in_us / after_us);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  Work work;
  prepare(work, options.backend);
  const bool cuda = work.context->device->properties().backend == "cuda";
  const std::function<void()> bare = cuda ? bare_on_cuda(work) : bare_on_streams(work);
  const std::function<void()> call = [&] { need(gpuemu_op_call(work.context, &work.call)); };
  double best_bare = 0, best_call = 0;
  for (int round = 0; round <= options.rounds; ++round) {
    const double bare_us = issue_us(work, bare, options.calls);
    const double call_us = issue_us(work, call, options.calls);
    // The first round includes lazy initialization.
    if (round == 1 || bare_us < best_bare) best_bare = bare_us;
    if (round == 1 || call_us < best_call) best_call = call_us;
  }
  std::printf("%s: %s %.3f us, op_call %.3f us, ratio %.2f\n",
              work.context->device->properties().name.c_str(),
              cuda ? "cuLaunchKernel" : "Streams::launch", best_bare, best_call,
              best_call / best_bare);
  report_profile(work, call, options);
  gpuemu_context_destroy(work.context);
  return 0;
}
