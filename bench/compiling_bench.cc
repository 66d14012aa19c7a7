// Measures compiling to machine code, compared with decoding the same functions, and how much of
// the built-in kernels it covers. Minimum processor time of several rounds, for all entries of a
// module.
//   gpuemu_bench_compiling [ROUNDS = 9]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

#include "kernels/catalog.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/jit/compile.h"
#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/ptx/parse.h"

namespace {
using gpuemu::emulator::Code;
using gpuemu::emulator::Memory;
using gpuemu::emulator::Program;
using gpuemu::emulator::Step;
namespace emulator = gpuemu::emulator;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  size_t steps = 0, compiled = 0;
  double decoding = std::numeric_limits<double>::max(), compiling = decoding;
};

bool round(std::string_view text, Cost& cost) {
  auto module = gpuemu::ptx::parse(std::string(text), "built-in");
  if (!module) return false;
  Program program;
  program.module = std::move(*module);
  emulator::list_functions(program);
  Memory memory(uint64_t{1} << 30);
  if (!emulator::place_variables(program, memory).ok()) return false;
  const double begin = processor_seconds();
  emulator::decode(program);
  const double decoded = processor_seconds();
  for (Code& code : program.functions) emulator::compile_code(code, 0);
  const double end = processor_seconds();
  cost.decoding = std::min(cost.decoding, decoded - begin);
  cost.compiling = std::min(cost.compiling, end - decoded);
  cost.steps = cost.compiled = 0;
  const auto target = emulator::target_of_compiled_code();
  for (const Code& code : program.functions) {
    for (const Step& step : code.steps) {
      ++cost.steps;
      if (emulator::operations(*target, 0).find(code, step) != nullptr ||
          step.run == emulator::steps::nothing || step.direct_branch() != nullptr) {
        ++cost.compiled;
      }
    }
  }
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  if (argc > 2 || rounds < 1) {
    std::fputs("usage: gpuemu_bench_compiling [ROUNDS]\n", stderr);
    return 2;
  }
  if (!emulator::runs_compiled_code()) {
    std::puts("this processor has neither AVX-512 nor AVX2: nothing is compiled");
    return 0;
  }
  std::printf("%-16s %7s %9s %16s %16s %6s\n", "kernels", "steps", "compiled", "decoding a step",
              "compiling it", "ratio");
  Cost all{.decoding = 0, .compiling = 0};
  for (const gpuemu::BuiltinKernel& kernel : gpuemu::builtin_kernels()) {
    Cost cost;
    for (int i = 0; i < rounds; ++i) {
      if (!round(kernel.ptx(), cost)) {
        return 1;
      }
    }
    const auto each = [&](double seconds) {
      return seconds * 1e6 / static_cast<double>(cost.steps);
    };
    std::printf("%-16s %7zu %8.1f%% %13.2f us %13.2f us %6.2f\n", std::string(kernel.name).c_str(),
                cost.steps,
                100.0 * static_cast<double>(cost.compiled) / static_cast<double>(cost.steps),
                each(cost.decoding), each(cost.compiling), cost.compiling / cost.decoding);
    all.steps += cost.steps;
    all.compiled += cost.compiled;
    all.decoding += cost.decoding;
    all.compiling += cost.compiling;
  }
  std::printf("all: %zu steps, %.1f %% compiled, compiling takes %.2f times as long as decoding\n",
              all.steps, 100.0 * static_cast<double>(all.compiled) / static_cast<double>(all.steps),
              all.compiling / all.decoding);
  return 0;
}
