#include "daemon/storage/store.h"

namespace gpuemu {

bool is_same_case(const ValidationResult& one, const ValidationResult& other) {
  const bool generated = one.repro_info && one.repro_info->base_seed && one.repro_info->iteration;
  // A case submitted by a client is only identified by its inputs.
  const bool has_inputs = one.repro_info && one.repro_info->input_snapshot;
  return (generated || has_inputs) && one.op_name == other.op_name && one.seed == other.seed &&
         one.repro_info == other.repro_info;
}

bool passes_now(const ResultToKeep& failure, const ResultToKeep& newest) {
  return newest.result.passed && newest.inputs == failure.inputs &&
         newest.result.timestamp >= failure.result.timestamp;
}

bool is_same_measurement(const ArtifactMetrics& one, ArtifactMetrics other) {
  other.timestamp = one.timestamp;
  other.last_seen = one.last_seen;
  other.project = one.project;
  return one == other;
}

}  // namespace gpuemu
