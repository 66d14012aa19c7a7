// Outputs of many cases under their names, in one file: a GPU's answers, kept for later
// comparisons.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::fidelity {

struct Recording {
  std::string device;  ///< Who computed it: "NVIDIA H200, driver 13.0".
  std::map<std::string, std::vector<std::byte>> tensors;
  std::map<std::string, std::string> notes;  ///< Case name to what went wrong in it.
};

Status write_recording(const Recording& recording, const std::string& path);
/// Corruption for a file that is none, or is cut.
Result<Recording> read_recording(const std::string& path);

}  // namespace gpuemu::fidelity
