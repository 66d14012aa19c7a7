#include "runtime/emulator/handlers.h"

namespace gpuemu::emulator {
namespace {
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
}  // namespace

const Table& handlers() { return has_avx2() ? avx2::table() : portable::table(); }
const char* handlers_name() { return has_avx2() ? "AVX2" : "portable"; }

}  // namespace gpuemu::emulator
