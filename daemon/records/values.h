// Converts records to the bytes that the database stores, and back.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/records.gen.h"
#include "daemon/records/stored_project.h"

namespace gpuemu::storage {

struct StoredResult {
  uint64_t stamp = 0;
  ValidationResult result;
  uint64_t inputs = 0;  ///< As of ResultToKeep.
};

std::string encode_result(const ValidationResult& result, uint64_t stamp, uint64_t inputs);
/// Corruption if encode_result could not have written the bytes.
Result<StoredResult> decode_result(std::string_view bytes);
/// Returns only the stamp, read in place.
Result<uint64_t> stamp_of(std::string_view bytes);
/// Returns whether the result passed, read in place.
Result<bool> passed_of(std::string_view bytes);

/// The id is omitted, because it is in the key.
std::string encode_project(const StoredProject& project);
Result<StoredProject> decode_project(std::string_view bytes);

std::string encode_artifact(const ArtifactMetrics& metrics);
Result<ArtifactMetrics> decode_artifact(std::string_view bytes);

}  // namespace gpuemu::storage
