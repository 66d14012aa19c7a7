// Objects of the program that graphs keep: each has a count of references, and a function that ends
// it.
#pragma once

#include <cstdint>
#include <map>

#include "bindings/libcuda/interface/graph_abi.h"

namespace gpuemu::libcuda {

/// CUhostFn
using EndObject = void (*)(void*);

// The functions are safe to call from any thread.

/// Makes an object that has `count` references.
UserObject make_user_object(void* data, EndObject end, uint64_t count);
/// Returns false when there is no such object.
bool retain_user_object(UserObject object, uint64_t count);
/// Whether the object has as many references.
bool has_references(UserObject object, uint64_t count);
/// Returns false, and changes nothing, when there is no such object or it has fewer references.
bool release_user_object(UserObject object, uint64_t count);
/// Calls the functions of the objects whose last reference was released. No lock may be held: they
/// are the program's.
void end_unused_objects();

/// The references that a graph holds. A copy holds as many of its own.
class HeldObjects {
 public:
  HeldObjects() = default;
  ~HeldObjects();
  HeldObjects(const HeldObjects& other);
  HeldObjects& operator=(const HeldObjects&) = delete;

  /// Takes over references that are the caller's.
  void take(UserObject object, uint64_t count) { counts_[object] += count; }
  /// Releases references. Returns false, and changes nothing, when it holds fewer.
  bool drop(UserObject object, uint64_t count);

 private:
  std::map<UserObject, uint64_t> counts_;
};

}  // namespace gpuemu::libcuda
