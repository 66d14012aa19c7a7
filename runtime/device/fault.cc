#include "runtime/device/fault.h"

namespace gpuemu {

std::string extent_text(const Dim3& dim) { return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z); }

std::string geometry_of(const LaunchShape& shape) {
  std::string out =
      fmt::format("grid {}, block {}", extent_text(shape.grid), extent_text(shape.block));
  if (shape.cluster.x != 0) out += fmt::format(", cluster {}", extent_text(shape.cluster));
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
