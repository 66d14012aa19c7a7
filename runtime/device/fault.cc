#include "runtime/device/fault.h"

namespace gpuemu {
namespace {

std::string index_text(const Dim3& dim) { return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z); }

}  // namespace

std::string geometry_of(const LaunchShape& shape) {
  std::string out =
      fmt::format("grid {}, block {}", index_text(shape.grid), index_text(shape.block));
  if (shape.cluster.x != 0) out += fmt::format(", cluster {}", index_text(shape.cluster));
  if (shape.dynamic_shared_bytes != 0) {
    out += fmt::format(", {} bytes of dynamic shared memory", shape.dynamic_shared_bytes);
  }
  return out;
}

Error launch_error(const LaunchShape& shape, const DeviceFinding& finding) {
  return error(ErrorCode::Launch, "kernel '{}' ({}): {}: {}", finding.entry, geometry_of(shape),
               name_of(finding.kind), finding.message);
}

}  // namespace gpuemu
