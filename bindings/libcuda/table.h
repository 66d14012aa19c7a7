// Handles of one kind and what they stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuemu::libcuda {

/// Numbers of handles: one sequence for all kinds, so that a handle of another kind is unknown.
uint64_t next_handle();

/// Any thread. A handle is never given out a second time.
template <typename HandleType, typename State>
class Table {
 public:
  HandleType add(std::shared_ptr<State> state) {
    const auto handle = reinterpret_cast<HandleType>(next_handle());
    const std::lock_guard lock(mutex_);
    known_.emplace(handle, std::move(state));
    return handle;
  }
  /// Null for what is not there.
  std::shared_ptr<State> find(HandleType handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = known_.find(handle);
    return found == known_.end() ? nullptr : found->second;
  }
  std::shared_ptr<State> remove(HandleType handle) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(handle);
    if (found == known_.end()) return nullptr;
    std::shared_ptr<State> state = std::move(found->second);
    known_.erase(found);
    return state;
  }
  /// The handles whose state answers true.
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
