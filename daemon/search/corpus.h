// Corpus entries of an op: passing cases that reached something first, as bytes for the store.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/records.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// REQUIRES: the result has repro_info.
std::vector<std::byte> corpus_entry(const ValidationResult& result);

/// The plans of entries that still fit the op, each case once. One whose kernel is gone runs with
/// that of now.
std::vector<CasePlan> corpus_plans(const OpConfig& op,
                                   std::span<const std::vector<std::byte>> entries);

}  // namespace gpuemu
