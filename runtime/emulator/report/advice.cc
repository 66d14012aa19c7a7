#include "runtime/emulator/report/advice.h"

#include <array>
#include <cstddef>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {
namespace {

struct Words {
  std::string_view block_barrier, warp_barrier, cluster_barrier;
  std::array<std::string_view, 7> global;  ///< Indexed by GlobalRace.
};
constexpr std::string_view kTexture =
    "textures and surfaces are read through a cache that may miss every store of the launch: write "
    "it in another launch";
/// Indexed by ptx::Language.
constexpr std::array<Words, 3> kWords = {{
    {"__syncthreads()",
     "__syncwarp()",
     "cluster.sync()",
     {"put __syncthreads() between",
      "use an atomic such as atomicAdd(), let one thread write it, or read it into a variable and "
      "put __syncthreads() before the write",
      "use an atomic, another launch, or __threadfence() and an atomic flag",
      "put __threadfence() between that store and the write of the flag",
      "scope .cta is atomic between threads of one block: use atomicAdd() instead of "
      "atomicAdd_block(), thread_scope_device instead of thread_scope_block",
      "ld.global.nc is for what no thread writes while the kernel runs: leave out __ldg() and "
      "`const __restrict__` there",
      kTexture}},
    {"tl.debug_barrier()",
     "tl.debug_barrier()",
     "barrier.cluster",
     {"put tl.debug_barrier() between",
      "use an atomic such as tl.atomic_add(), let one element of the block write it, or load it "
      "first and put tl.debug_barrier() before the store",
      "use an atomic, another launch, or tl.debug_barrier() and an atomic flag "
      "(sem=\"release\" where it is set, \"acquire\" where it is read)",
      "put tl.debug_barrier() between that store and the atomic that sets the flag, and give that "
      "one sem=\"release\"",
      "scope=\"cta\" is atomic between threads of one program: leave it out, or take "
      "scope=\"gpu\"",
      "ld.global.nc is for what no thread writes while the kernel runs: write it in another "
      "launch",
      kTexture}},
    {"cuda.syncthreads()",
     "cuda.syncwarp()",
     "barrier.cluster",
     {"put cuda.syncthreads() between",
      "use an atomic such as cuda.atomic.add(), let one thread write it, or read it into a "
      "variable "
      "and put cuda.syncthreads() before the write",
      "use an atomic, another launch, or cuda.threadfence() and an atomic flag",
      "put cuda.threadfence() between that store and the write of the flag",
      "scope .cta is atomic between threads of one block: take cuda.atomic.add()",
      "ld.global.nc is for what no thread writes while the kernel runs: write it in another "
      "launch",
      kTexture}},
}};

const Words& language_words(ptx::Language language) {
  return kWords[static_cast<size_t>(language)];
}

}  // namespace

std::string_view block_barrier(ptx::Language language) {
  return language_words(language).block_barrier;
}
std::string_view cluster_barrier(ptx::Language language) {
  return language_words(language).cluster_barrier;
}
std::string_view warp_barrier(ptx::Language language) {
  return language_words(language).warp_barrier;
}
bool in_one_line(const ptx::Instruction& one, const ptx::Instruction* other) {
  if (other == nullptr) return false;
  if (one.source.line == 0) return &one == other;
  return one.source.file == other->source.file && one.source.line == other->source.line;
}

std::string_view advice_on(GlobalRace race, ptx::Language language) {
  return language_words(language).global[static_cast<size_t>(race)];
}

}  // namespace gpuemu::emulator
