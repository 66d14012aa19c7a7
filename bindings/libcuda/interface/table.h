// Maps handles of one type to their state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuemu::libcuda {

/// Returns the next handle. All types share one sequence, so that a table never mistakes a handle
/// of another type for its own. Thread-safe.
inline uint64_t next_handle() {
  constexpr uint64_t kFirst = uint64_t{0x6770} << 32, kStep = 16;
  static std::atomic<uint64_t> next = kFirst;
  return next.fetch_add(kStep);
}

/// Thread-safe. A handle is never reused. State lives as long as a pointer to it.
template <typename HandleType, typename State>
class Table {
 public:
  /// Returns a new handle for `state`.
  HandleType add(std::shared_ptr<State> state) {
    const auto handle = reinterpret_cast<HandleType>(next_handle());
    const std::lock_guard lock(mutex_);
    known_.emplace(handle, std::move(state));
    return handle;
  }
  /// Returns nullptr when the handle is unknown.
  std::shared_ptr<State> find(HandleType handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = known_.find(handle);
    return found == known_.end() ? nullptr : found->second;
  }
  /// Removes the handle and returns its state; nullptr when it is unknown.
  std::shared_ptr<State> remove(HandleType handle) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(handle);
    if (found == known_.end()) return nullptr;
    std::shared_ptr<State> state = std::move(found->second);
    known_.erase(found);
    return state;
  }
  /// Returns the handles whose state satisfies the predicate, in no order.
  template <typename Predicate>
  std::vector<HandleType> which(const Predicate& predicate) const {
    const std::shared_lock lock(mutex_);
    std::vector<HandleType> found;
    for (const auto& [handle, state] : known_) {
      if (predicate(*state)) found.push_back(handle);
    }
    return found;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<HandleType, std::shared_ptr<State>> known_;
};

}  // namespace gpuemu::libcuda
