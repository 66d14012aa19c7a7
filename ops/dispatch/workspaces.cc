#include "ops/dispatch/workspaces.h"

#include <utility>

namespace gpuemu {
namespace {

/// Its address identifies the thread, and is not reused while it is held.
std::shared_ptr<const char> this_thread() {
  thread_local const auto kMark = std::make_shared<const char>();
  return kMark;
}

}  // namespace

Workspaces::~Workspaces() {
  // A lost device frees nothing, and its process ends soon.
  for (const auto& [key, space] : spaces_) {
    if (space->bytes > 0) (void)device_.free(space->address).ok();
  }
  for (const auto& [stream, address] : kept_) (void)device_.free(address).ok();
}

Workspaces::Space& Workspaces::space_of(StreamId stream) {
  const std::lock_guard lock(mutex_);
  auto& space = spaces_[{stream, stream == kPerThreadStream ? this_thread() : nullptr}];
  if (space == nullptr) space = std::make_unique<Space>();
  return *space;
}

Result<Workspaces::Turn> Workspaces::take(uint64_t bytes, StreamId stream) {
  Space& space = space_of(stream);
  std::unique_lock lock(space.mutex);
  if (space.bytes < bytes) {
    const uint64_t address = GPUEMU_TRY(device_.allocate(bytes, "workspace"));
    // Issued work may still use the old space; freeing it waits for that.
    const uint64_t outgrown = std::exchange(space.address, address);
    const bool had_one = std::exchange(space.bytes, bytes) > 0;
    if (had_one) GPUEMU_TRY(device_.free(outgrown));
  }
  return Turn{space.address, std::move(lock)};
}

Status Workspaces::forget(StreamId stream) {
  std::unique_ptr<Space> space;
  {
    const std::lock_guard lock(mutex_);
    auto found = spaces_.extract({stream, nullptr});
    if (found.empty()) return ok_status();
    space = std::move(found.mapped());
  }
  return space->bytes > 0 ? device_.free(space->address) : ok_status();
}

Result<Workspaces::Turn> Workspaces::keep(uint64_t bytes, StreamId stream) {
  const uint64_t address = GPUEMU_TRY(device_.allocate(bytes, "workspace of a graph"));
  const std::lock_guard lock(mutex_);
  kept_.emplace_back(stream, address);
  return Turn{address};
}

std::vector<uint64_t> Workspaces::take_kept(const std::function<bool(StreamId stream)>& is_over) {
  std::vector<uint64_t> taken;
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& one) {
    if (!is_over(one.first)) return false;
    taken.push_back(one.second);
    return true;
  });
  return taken;
}

}  // namespace gpuemu
