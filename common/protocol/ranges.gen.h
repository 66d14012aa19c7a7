// Runs that several daemons share, each with ranges of the cases: what the one that keeps
// everything does.
// Written by tools/make_protocol.py from ranges.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/evidence.gen.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

struct CorpusReply {
  std::vector<CorpusCase> entries;  ///< In the order in which a guided run would replay them.
  bool operator==(const CorpusReply&) const = default;
};

struct FuzzFinishedReply {
  std::vector<ValidationResult> failures;  ///< With their diagnoses.
  std::vector<ValidationResult> warnings;
  std::vector<Evidence> evidence;
  std::vector<std::string> notes;
  uint64_t corpus = 0;  ///< As in SearchReport, as those below; without `found` absent.
  std::string corpus_digest;
  std::string start_digest;
  bool operator==(const FuzzFinishedReply&) const = default;
};

/// The stored cases that a guided run of the op begins with.
struct GetCorpusRequest {
  std::string op_name;
  bool operator==(const GetCorpusRequest&) const = default;
};

/// Keeps the results of cases that another daemon ran, in one step.
struct StoreResultsRequest {
  std::vector<ValidationResult> results;
  bool operator==(const StoreResultsRequest&) const = default;
};

/// What a run that several daemons shared ends with: failures get their diagnoses, evidence is
/// added up, and the corpus is stored.
struct FinishFuzzRequest {
  std::string op_name;
  std::vector<ValidationResult> failures;  ///< The first ones, in order.
  std::vector<ValidationResult> warnings;
  std::vector<Evidence> evidence;  ///< From all guided ranges, with `counts`.
  std::vector<OpTestReport> reports;  ///< From all unguided ranges.
  std::vector<CorpusCase> start;  ///< What the run began with.
  /// What it ended with, in order, with features; absent: it was not guided.
  std::optional<std::vector<CorpusCase>> found;
  bool keep = false;  ///< Store `found` in place of `start`.
  std::optional<uint64_t> max_elements;  ///< As in RunTests.
  bool strict = false;  ///< As in RunTests.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const FinishFuzzRequest&) const = default;
};

/// What a RunTests that several daemons shared ends with, as FinishFuzz.
struct FinishTestsRequest {
  uint64_t seed = 0;
  std::vector<OpTestReport> reports;  ///< From all pieces, those of an op and dtype in order.
  bool cancelled = false;  ///< Why cases did not run; else at the first failing case.
  std::optional<uint64_t> max_elements;  ///< As in RunTests.
  bool strict = false;  ///< As in RunTests.
  bool stream = false;  ///< Run as a job and answer with JobStarted at once.
  std::optional<uint64_t> lease_ms;  ///< As in JobStatusRequest.
  bool operator==(const FinishTestsRequest&) const = default;
};

}  // namespace gpuemu
