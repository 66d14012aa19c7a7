#include "bindings/libcuda/graphs/user_objects.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "bindings/libcuda/interface/table.h"

namespace gpuemu::libcuda {
namespace {

struct ObjectState {
  void* data = nullptr;
  EndObject end = nullptr;
  uint64_t references = 0;
};

struct Objects {
  std::mutex mutex;
  std::map<UserObject, ObjectState> known;  // Guarded by mutex, like the next member.
  std::vector<ObjectState> unused;
};

Objects& objects() {
  static auto* const kObjects = new Objects;
  return *kObjects;
}

}  // namespace

UserObject make_user_object(void* data, EndObject end, uint64_t count) {
  const auto handle = reinterpret_cast<UserObject>(next_handle());
  const std::lock_guard lock(objects().mutex);
  objects().known[handle] = {data, end, count};
  return handle;
}

bool retain_user_object(UserObject object, uint64_t count) {
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().known.find(object);
  if (found == objects().known.end()) return false;
  found->second.references += count;
  return true;
}

bool has_references(UserObject object, uint64_t count) {
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().known.find(object);
  return found != objects().known.end() && found->second.references >= count;
}

bool release_user_object(UserObject object, uint64_t count) {
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().known.find(object);
  if (found == objects().known.end() || found->second.references < count) return false;
  found->second.references -= count;
  if (found->second.references == 0) {
    objects().unused.push_back(found->second);
    objects().known.erase(found);
  }
  return true;
}

void end_unused_objects() {
  std::vector<ObjectState> unused;
  {
    const std::lock_guard lock(objects().mutex);
    unused.swap(objects().unused);
  }
  for (const ObjectState& one : unused) one.end(one.data);
}

HeldObjects::~HeldObjects() {
  for (const auto& [object, count] : counts_) (void)release_user_object(object, count);
}

HeldObjects::HeldObjects(const HeldObjects& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) (void)retain_user_object(object, count);
}

bool HeldObjects::drop(UserObject object, uint64_t count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  return release_user_object(object, count);
}

}  // namespace gpuemu::libcuda
