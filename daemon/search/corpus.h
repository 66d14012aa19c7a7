// Corpus entries of an op as bytes for the store, and as messages have them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/config/op_config.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/records.gen.h"
#include "daemon/search/corpus_entries.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// REQUIRES: the result has repro_info.
std::vector<std::byte> corpus_entry(const ValidationResult& result);

/// The plans of entries that still fit the op, each case once. One whose kernel is gone runs with
/// that of now.
std::vector<CasePlan> corpus_plans(const OpConfig& op,
                                   std::span<const std::vector<std::byte>> entries);

/// What a request gives in place of the stored entries. InvalidArgument for one that does not fit
/// the op, and for features that are none.
Result<std::vector<CorpusEntry>> given_corpus(const OpConfig& op,
                                              std::span<const CorpusCase> cases);

/// What the entries are made again from.
std::vector<ReproductionInfo> cases_of(const CorpusEntries& entries);

}  // namespace gpuemu
