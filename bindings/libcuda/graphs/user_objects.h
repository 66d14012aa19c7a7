// Objects of the program that graphs keep: each has a reference count, and a function that destroys
// it.
#pragma once

#include <cstdint>
#include <map>

#include "bindings/libcuda/interface/graph_abi.h"

namespace gpuemu::libcuda {

/// CUhostFn
using EndObject = void (*)(void*);

// The functions are safe to call from any thread.

/// Creates an object with `count` references.
UserObject make_user_object(void* data, EndObject end, uint64_t count);
/// Returns false when there is no such object.
bool retain_user_object(UserObject object, uint64_t count);
/// Returns true if the object has at least this many references.
bool has_references(UserObject object, uint64_t count);
/// Returns false, and changes nothing, when there is no such object or it has fewer references.
bool release_user_object(UserObject object, uint64_t count);
/// Calls the functions of the objects whose last reference was released. The caller must hold no
/// lock, because the functions belong to the program.
void end_unused_objects();

/// The references that a graph holds. A copy of the graph holds the same number.
class HeldObjects {
 public:
  HeldObjects() = default;
  ~HeldObjects();
  HeldObjects(const HeldObjects& other);
  HeldObjects& operator=(const HeldObjects&) = delete;

  /// Takes over references of the caller.
  void take(UserObject object, uint64_t count) { counts_[object] += count; }
  /// Releases references. Returns false, and changes nothing, if it holds fewer.
  bool drop(UserObject object, uint64_t count);

 private:
  std::map<UserObject, uint64_t> counts_;
};

}  // namespace gpuemu::libcuda
