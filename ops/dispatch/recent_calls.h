// A cache of recent calls, so that a repeated call is neither checked nor planned again. Calls are
// equal if their op, attributes and the addresses, shapes, strides and dtypes of their operands
// are, under the same registry and policy; everything else follows from these.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/device_tensor.h"
#include "kernels/plan.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// Everything on which the decision about a call depends. Calls with many operands or axes have no
/// key.
class CallKey {
 public:
  CallKey() {}  // NOLINT: words are written before they are read.
  /// Returns false if there is no room left.
  bool add(uint64_t word) {
    if (count_ == kWordsMax) return false;
    words_[count_++] = word;
    return true;
  }
  bool add(std::span<const DeviceTensor> tensors);
  bool add(std::span<const std::byte> bytes);
  /// Returns a number below `range`, a power of two. Each word has a factor of its own, so that the
  /// products do not wait for each other.
  size_t place(size_t range) const {
    uint64_t sum = 0, factor = kFactor;
    for (size_t i = 0; i < count_; ++i, factor += 2 * kFactor) sum += words_[i] * factor;
    return (sum * kFactor >> 32) % range;
  }
  bool operator==(const CallKey& other) const {
    return count_ == other.count_ &&
           std::memcmp(words_.data(), other.words_.data(), count_ * sizeof(uint64_t)) == 0;
  }

 private:
  static constexpr size_t kWordsMax = 56;
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  size_t count_ = 0;
  std::array<uint64_t, kWordsMax> words_;
};

struct KernelVariant;

/// What a call launches.
struct DecidedCall {
  struct Step {
    LaunchStep launch;
    FunctionId function = 0;
    std::vector<MemoryAccess> accesses;
    std::unique_ptr<LaunchMemo> memo = nullptr;
  };
  const KernelVariant* variant = nullptr;
  std::vector<Step> steps;
  uint64_t checked_at = 0;  ///< OperandCheck::generation when the operands were last checked.
};

/// The cache of one thread. A new entry replaces an old one.
class RecentCalls {
 public:
  static RecentCalls& of_this_thread();
  /// Returns null if the call is not in the cache. Valid until the next keep().
  DecidedCall* find(const CallKey& key);
  void keep(const CallKey& key, DecidedCall call);

 private:
  /// A training step has tens of calls, each with several alternating addresses.
  static constexpr size_t kPlaces = 1024;  ///< A power of two.
  struct Place {
    CallKey key;
    DecidedCall call;
  };
  /// By CallKey::place(); empty until the first keep().
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace gpuemu
