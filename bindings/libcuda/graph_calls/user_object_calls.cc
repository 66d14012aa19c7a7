// Implements cuUserObject*, and the calls by which graphs keep such objects.
#include "bindings/libcuda/graph_calls/graph_access.h"
#include "bindings/libcuda/graphs/user_objects.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

constexpr unsigned kNoDestructorSync = 1;  ///< The only CUuserObject_flags, which must be set.
constexpr unsigned kMove = 1;              ///< CUuserObjectRetain_flags

bool is_count(unsigned count) { return count != 0 && count <= INT32_MAX; }

}  // namespace

GPUEMU_DRIVER_API int cuUserObjectCreate(UserObject* made, void* data, EndObject end,
                                         unsigned count, unsigned flags) {
  return driver_call([&](Process&) -> int {
    if (made == nullptr || end == nullptr || !is_count(count) || flags != kNoDestructorSync) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *made = make_user_object(data, end, count);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuUserObjectRetain(UserObject object, unsigned count) {
  return driver_call([&](Process&) -> int {
    const bool is_done = is_count(count) && retain_user_object(object, count);
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

GPUEMU_DRIVER_API int cuUserObjectRelease(UserObject object, unsigned count) {
  const int code = driver_call([&](Process&) -> int {
    const bool is_done = is_count(count) && release_user_object(object, count);
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  end_unused_objects();
  return code;
}

GPUEMU_DRIVER_API int cuGraphRetainUserObject(Graph graph, UserObject object, unsigned count,
                                              unsigned flags) {
  return with_graph(graph, [&](Process&, GraphState& state) -> int {
    if (!is_count(count) || (flags & ~kMove) != 0) return CUDA_ERROR_INVALID_VALUE;
    // Moved references already belong to the caller.
    if (flags != kMove && !retain_user_object(object, count)) return CUDA_ERROR_INVALID_VALUE;
    if (flags == kMove && !has_references(object, count)) return CUDA_ERROR_INVALID_VALUE;
    state.held_objects().take(object, count);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuGraphReleaseUserObject(Graph graph, UserObject object, unsigned count) {
  const int code = with_graph(graph, [&](Process&, GraphState& state) -> int {
    const bool is_done = is_count(count) && state.held_objects().drop(object, count);
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  end_unused_objects();
  return code;
}

}  // namespace gpuemu::libcuda
