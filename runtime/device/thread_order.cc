#include "runtime/device/thread_order.h"

#include <array>

#include "common/base/enum_count.h"

namespace gpuemu {
namespace {

static_assert(kThreadOrders == enum_count<ThreadOrder>());
constexpr std::array<std::string_view, kThreadOrders> kNames = {
    "in_order", "reverse", "random", "priorities", "far_ahead", "one_block", "split_warps"};
}  // namespace

std::string_view name_of(ThreadOrder thread_order) {
  return kNames[static_cast<size_t>(thread_order)];
}

std::optional<ThreadOrder> thread_order_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ThreadOrder>(i);
  }
  return std::nullopt;
}

}  // namespace gpuemu
