// What the emulator computes beside what a GPU computes: the same PTX and the same inputs on both
// backends, outputs compared bit for bit.
//   gpuemu_bench_fidelity [project folder = .] [cases per op and dtype = 16] [seed = 42]
// Exit 0 when all bits of all ops agree, 1 when some differ, 3 without a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "common/base/arena.h"
#include "common/numeric/dtype.h"
#include "common/numeric/ulp.h"
#include "daemon/engine/kernel_store.h"
#include "daemon/engine/run_case.h"
#include "daemon/worker/execute.h"
#include "runtime/backends/backends.h"

namespace {

struct Side {
  std::string name;
  std::unique_ptr<gpuemu::Device> device;
  gpuemu::Arena arena;
};

struct Tally {
  uint64_t cases = 0, elements = 0, different = 0, cases_different = 0, ulps_max = 0;
  std::string note;  ///< First finding or error of either side.
};

/// One op in one dtype: everything that its cases share.
struct Subject {
  const gpuemu::Config& config;
  const gpuemu::OpConfig& op;
  const gpuemu::KernelConfig& kernel;
  const gpuemu::PreparedKernel& prepared;
};

gpuemu::Result<Side> open_side(const std::string& backend) {
  Side side;
  side.name = backend;
  side.device = GPUEMU_TRY(gpuemu::open_device({.backend = backend}));
  side.arena = GPUEMU_TRY(gpuemu::Arena::create());
  return side;
}

gpuemu::Result<gpuemu::ExecutionReport> execute_on(Side& side, const Subject& subject,
                                                   const gpuemu::CasePlan& plan,
                                                   const gpuemu::BuiltPlan& built) {
  GPUEMU_TRY(side.arena.grow(built.result_offset + 1));
  for (size_t index = 0; index < plan.inputs.size(); ++index) {
    const gpuemu::CaseTensor& input = plan.inputs[index];
    const auto planned =
        std::ranges::find(built.plan.tensors, input.name, &gpuemu::PlanTensor::name);
    const uint64_t bytes =
        static_cast<uint64_t>(gpuemu::element_count(input.shape)) * gpuemu::byte_size(input.dtype);
    const auto to = GPUEMU_TRY(side.arena.range(planned->arena_offset, bytes));
    gpuemu::fill_input(subject.op, plan, index, to);
  }
  const gpuemu::ModuleId module =
      GPUEMU_TRY(side.device->load_module(subject.prepared.ptx, subject.prepared.name));
  auto report = gpuemu::execute(*side.device, module, side.arena, built.plan);
  GPUEMU_TRY(side.device->unload_module(module));
  return report;
}

gpuemu::Status run_on(Side& side, const Subject& subject, const gpuemu::CasePlan& plan,
                      const gpuemu::BuiltPlan& built, Tally& tally) {
  const auto report = GPUEMU_TRY(execute_on(side, subject, plan, built));
  if (!tally.note.empty()) return gpuemu::ok_status();
  if (!report.device.empty()) tally.note = side.name + ": " + report.device.front().kind;
  if (!report.harness.empty()) tally.note = side.name + ": " + report.harness.front().message;
  return gpuemu::ok_status();
}

gpuemu::Status compare_outputs(const gpuemu::BuiltPlan& built, Side& left, Side& right,
                               Tally& tally) {
  using Role = gpuemu::PlanTensor::Role;
  const uint64_t before = tally.different;
  for (const gpuemu::PlanTensor& tensor : built.plan.tensors) {
    if (tensor.role != Role::Output && tensor.role != Role::InOut) continue;
    const uint64_t width = gpuemu::byte_size(tensor.dtype);
    const auto count = static_cast<uint64_t>(gpuemu::element_count(tensor.shape));
    const auto a = GPUEMU_TRY(left.arena.range(tensor.output_offset, count * width));
    const auto b = GPUEMU_TRY(right.arena.range(tensor.output_offset, count * width));
    tally.elements += count;
    for (uint64_t at = 0; at < count * width; at += width) {
      if (std::memcmp(&a[at], &b[at], width) == 0) continue;
      ++tally.different;
      if (!gpuemu::is_float(tensor.dtype)) continue;
      tally.ulps_max = std::max(tally.ulps_max, gpuemu::ulp_distance(tensor.dtype, &a[at], &b[at]));
    }
  }
  tally.cases_different += tally.different > before ? 1 : 0;
  return gpuemu::ok_status();
}

gpuemu::Status compare_case(const Subject& subject, const gpuemu::CasePlan& plan, Side& left,
                            Side& right, Tally& tally) {
  gpuemu::BuiltPlan built = GPUEMU_TRY(
      gpuemu::build_plan(subject.config, subject.kernel, subject.prepared, subject.op, plan));
  built.plan.runs = 1;
  GPUEMU_TRY(run_on(left, subject, plan, built, tally));
  GPUEMU_TRY(run_on(right, subject, plan, built, tally));
  ++tally.cases;
  return compare_outputs(built, left, right, tally);
}

struct Amount {
  uint64_t cases, seed;
};

gpuemu::Result<Tally> compare_op(const Subject& subject, gpuemu::DType dtype, const Amount& amount,
                                 Side& left, Side& right) {
  Tally tally;
  for (uint64_t number = 0; number < amount.cases; ++number) {
    const gpuemu::CasePlan plan =
        GPUEMU_TRY(gpuemu::plan_case(subject.op, amount.seed, number, {.dtypes = {dtype}}));
    const auto compared = compare_case(subject, plan, left, right, tally);
    if (!compared) {
      if (tally.note.empty()) tally.note = compared.error().message;
      break;
    }
  }
  return tally;
}

void print_row(const std::string& op, gpuemu::DType dtype, const Tally& tally) {
  std::printf("%-28s %-9s %6llu %10llu %10llu %8llu %6llu  %s\n", op.c_str(),
              std::string(gpuemu::name_of(dtype)).c_str(),
              static_cast<unsigned long long>(tally.cases),
              static_cast<unsigned long long>(tally.elements),
              static_cast<unsigned long long>(tally.different),
              static_cast<unsigned long long>(tally.cases_different),
              static_cast<unsigned long long>(tally.ulps_max), tally.note.c_str());
}

/// Compares every op that has a kernel; the number of elements that differ.
gpuemu::Result<uint64_t> compare_project(const gpuemu::Config& config, const Amount& amount) {
  Side emulator = GPUEMU_TRY(open_side("emulator"));
  Side gpu = GPUEMU_TRY(open_side("cuda"));
  std::printf("emulator beside %s; %llu cases an op and dtype, seed %llu\n",
              gpu.device->properties().name.c_str(), static_cast<unsigned long long>(amount.cases),
              static_cast<unsigned long long>(amount.seed));
  std::printf("%-28s %-9s %6s %10s %10s %8s %6s\n", "op", "dtype", "cases", "elements", "differing",
              "in cases", "ULPs");
  gpuemu::KernelStore kernels(config, "", fmt::format("sm_{}", gpu.device->properties().sm));
  uint64_t different = 0;
  for (const gpuemu::OpConfig& op : config.ops) {
    const gpuemu::KernelConfig* kernel =
        op.kernels.empty() ? nullptr : config.find_kernel(op.kernels.front());
    if (kernel == nullptr) continue;
    for (const gpuemu::DType dtype : op.dtypes) {
      const auto prepared = GPUEMU_TRY(kernels.prepare(*kernel, dtype));
      const Subject subject{config, op, *kernel, *prepared};
      const Tally tally = GPUEMU_TRY(compare_op(subject, dtype, amount, emulator, gpu));
      print_row(op.name, dtype, tally);
      different += tally.different;
    }
  }
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  gpuemu::ConfigSources sources;
  sources.working_folder = argc > 1 ? argv[1] : ".";
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      sources.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  const Amount amount{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 16,
                      argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 42};
  const gpuemu::ConfigResult loaded = gpuemu::load_config(sources);
  if (!loaded.config) {
    std::fprintf(stderr, "%s\n", loaded.text().c_str());
    return 2;
  }
  const auto different = compare_project(*loaded.config, amount);
  if (!different) {
    std::fprintf(stderr, "fidelity: %s\n", different.error().message.c_str());
    return 3;
  }
  return *different == 0 ? 0 : 1;
}
