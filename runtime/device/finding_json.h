// Converts a device's finding to and from JSON, for storage and for other processes.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/device/device_finding.h"

namespace gpuemu {

inline nlohmann::json json_of(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

inline nlohmann::json json_of(const DeviceFinding& finding) {
  return {{"kind", name_of(finding.kind)},
          {"message", finding.message},
          {"entry", finding.entry},
          {"file", finding.file},
          {"line", finding.line},
          {"other_file", finding.other_file},
          {"other_line", finding.other_line},
          {"ptx_line", finding.ptx_line},
          {"instruction", finding.instruction},
          {"block", json_of(finding.block)},
          {"thread", json_of(finding.thread)},
          {"tensor", finding.tensor},
          {"byte_offset", finding.byte_offset},
          {"count", finding.count},
          {"is_note", is_note(finding)}};
}

}  // namespace gpuemu
