#include "runtime/device/interleaving.h"

#include <array>

#include "common/base/enum_count.h"

namespace gpuemu {
namespace {

static_assert(kInterleavings == enum_count<Interleaving>());
constexpr std::array<std::string_view, kInterleavings> kNames = {
    "in_order", "reverse", "random", "priorities", "far_ahead", "one_block", "split_warps"};
}  // namespace

std::string_view name_of(Interleaving interleaving) {
  return kNames[static_cast<size_t>(interleaving)];
}

std::optional<Interleaving> interleaving_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Interleaving>(i);
  return std::nullopt;
}

}  // namespace gpuemu
