// What runs of many cases say beside pass and fail: how much the passing cases prove, what they
// reached of the kernel, how large its own errors are.
// Written by tools/make_protocol.py from evidence.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

enum class OpState {
  Ran,  ///< Cases ran, and their verdict counts.
  Skipped,  ///< It is not for this run; no fault.
  Stopped,  ///< Time or a failing case ended the run before it had a verdict.
  NoVariantFits,  ///< No kernel supports any of its cases.
  RunsInClient,  ///< It has no kernel that the daemon could execute.
  Broken,  ///< It could not be run: the run is no success.
};
inline constexpr OpState kLastOpState = OpState::Broken;
/// The name on the wire, and back.
const char* name_of(OpState value);
std::optional<OpState> op_state_from_name(const std::string& name);

/// Passing cases of one value strategy that the same trivial outputs pass.
struct EvidenceRow {
  std::string value_strategy;
  uint32_t trivial = 0;  ///< A bit for each trivial output that passes them.
  uint64_t cases = 0;
  bool operator==(const EvidenceRow&) const = default;
};

/// What adding up the evidence of several ranges takes.
struct EvidenceCounts {
  std::vector<EvidenceRow> rows;
  uint64_t exact = 0;
  uint64_t failed = 0;
  std::map<std::string, int64_t> reached;  ///< The largest size of each dim in a judged case.
  /// Dims of the judged case whose dims have the largest product.
  std::map<std::string, int64_t> largest;
  bool copies = false;  ///< The first input was the answer of every judged case.
  bool operator==(const EvidenceCounts&) const = default;
};

/// How much the passing cases of an op in one dtype prove.
struct Evidence {
  DType dtype = DType::Float32;
  uint64_t judged = 0;  ///< Passing cases whose values were compared.
  uint64_t telling = 0;  ///< Judged cases in which no trivial output passes.
  uint64_t exact = 0;  ///< Judged cases that were compared without tolerance.
  std::map<std::string, uint64_t> trivial;  ///< Cases that this output would pass, by its name.
  std::map<std::string, uint64_t> strategies;  ///< Telling cases per value strategy.
  /// Upper limit, with 95 % confidence, of the share of such cases that would fail. Absent where
  /// one did.
  std::optional<double> failure_limit;
  /// Where it ends: dims of which larger sizes are declared than any judged case had, with the
  /// largest that one had.
  std::map<std::string, int64_t> up_to;
  /// The dims of the largest judged case, where every dim was at its largest and never all at once.
  std::map<std::string, int64_t> largest;
  std::optional<EvidenceCounts> counts;  ///< Told of a piece of a run, also where nothing passed.
  bool operator==(const Evidence&) const = default;
};

/// A case that reached something, and what.
struct CorpusCase {
  ReproductionInfo repro_info;  ///< Without inputs.
  /// Its number in the run; absent: of the corpus that the run began with.
  std::optional<uint64_t> number;
  bool passed = true;
  /// What it reached, each part as a number below 65,536, sorted. In a request: the case is not run
  /// again.
  std::vector<uint32_t> features;
  std::vector<uint64_t> blocks;  ///< Ids of the blocks that it reached.
  std::vector<uint64_t> edges;  ///< Ids of the edges that it reached.
  uint64_t elements = 0;  ///< The elements of its inputs and outputs.
  bool operator==(const CorpusCase&) const = default;
};

/// What the search of a range of cases has found, for whoever merges several ranges.
struct SearchFeatures {
  /// Cases that reached something new to the corpus and to the cases before them, in order.
  std::vector<CorpusCase> cases;
  std::vector<uint64_t> blocks;  ///< Ids of all blocks of the kernels.
  std::vector<uint64_t> edges;  ///< Ids of all edges of the kernels.
  bool operator==(const SearchFeatures&) const = default;
};

/// What a search that follows coverage has reached.
struct SearchReport {
  uint64_t replayed = 0;  ///< Corpus entries that ran first; part of the total.
  uint64_t grown = 0;  ///< Cases that reached something new.
  uint64_t corpus = 0;  ///< Entries that are kept for the next time.
  uint64_t blocks = 0;
  uint64_t blocks_total = 0;
  uint64_t edges = 0;
  uint64_t edges_total = 0;
  uint64_t epochs = 0;  ///< Into which the generated cases fall.
  std::string corpus_digest;  ///< Names the entries that the search ends with, in their order.
  std::string start_digest;  ///< Names the entries that it began with.
  std::optional<SearchFeatures> features;  ///< When FuzzOp had first_case or corpus.
  bool operator==(const SearchReport&) const = default;
};

/// A source line that has code, and how many threads executed it.
struct CoveredLine {
  std::string file;
  uint32_t line = 0;
  uint64_t hits = 0;
  bool operator==(const CoveredLine&) const = default;
};

/// One way out of a branch of the kernel.
struct BranchWay {
  std::string file;  ///< "": a line of the PTX, as in LineProfile.
  uint32_t line = 0;
  uint32_t branch = 0;  ///< Among the branches of the line, from 0.
  uint32_t way = 0;  ///< Its place among the branch's, from 0.
  uint32_t to_line = 0;  ///< Where it goes on, of the same file; 0 where that is another file.
  uint64_t hits = 0;  ///< Threads that went it.
  bool operator==(const BranchWay&) const = default;
};

/// The largest errors of passing cases with values of one strategy.
struct CalibrationRow {
  std::string value_strategy;
  uint64_t cases = 0;
  double max_abs = 0;
  double max_rel = 0;
  uint64_t max_ulp = 0;
  double bound_use = 0;  ///< Share of the tolerance in force; 1 is the limit.
  bool operator==(const CalibrationRow&) const = default;
};

/// The errors of one dtype, and a tolerance that would just allow them twice over.
struct CalibratedDType {
  DType dtype = DType::Float32;
  uint64_t cases = 0;
  uint64_t left_out = 0;  ///< Cases that fail, so their errors are not the kernel's usual ones.
  double atol = 0;
  double rtol = 0;  ///< Twice the largest error that was seen, as a tolerance.
  bool is_exact = false;  ///< No error was seen.
  std::string skipped_reason;  ///< As in OpTestReport.
  std::vector<CalibrationRow> rows;
  OpState state = OpState::Ran;
  bool operator==(const CalibratedDType&) const = default;
};

/// A passing case whose verdict changes with how its arithmetic is compiled.
struct FragileCase {
  uint64_t seed = 0;
  std::string setting;  ///< "contraction always", "contraction random 2"
  std::string message;  ///< What then is wrong.
  std::optional<ExplainedStep> divergence;
  bool operator==(const FragileCase&) const = default;
};

/// What came of one op in one dtype.
struct OpTestReport {
  std::string op_name;
  DType dtype = DType::Float32;
  std::string kernel;  ///< The variant that ran.
  uint64_t cases = 0;
  uint64_t passed = 0;
  uint64_t failed = 0;
  /// Why it has no verdict, "" when it ran; set_op_state() writes it. Published clients find Broken
  /// by the prefix `error:`.
  std::string skipped_reason;
  uint64_t duration_ms = 0;
  double cases_per_second = 0;
  std::vector<ValidationResult> failures;  ///< The first ones.
  double max_diff = 0;
  double bound_ratio_max = 0;  ///< Largest error over its allowed bound; 1 is the limit.
  std::map<std::string, uint64_t> strategies;  ///< Cases per value strategy.
  std::map<std::string, uint64_t> relations;  ///< Cases in which each relation was checked.
  bool no_reference = false;  ///< No value was compared with an expected one.
  bool unjudged = false;  ///< Nor did a relation or an invariant look at the values.
  std::vector<std::string> notes;  ///< What the verdict rests on, and what it does not.
  uint64_t warned = 0;  ///< Cases that passed with a warning.
  std::vector<ValidationResult> warnings;  ///< The first of them.
  std::optional<Evidence> evidence;  ///< When a case passed.
  std::vector<FragileCase> fragile;  ///< When it was asked for; the first ones.
  uint64_t fragile_checked = 0;  ///< Passing cases that were run in other settings.
  bool reference_failed = false;  ///< It answered no case, which `skipped_reason` says.
  uint64_t not_run = 0;  ///< Cases that the run ended before; `skipped_reason` or a note says why.
  OpState state = OpState::Ran;
  /// For a failing op whose sizes, arguments or launches are guessed: what to check before
  /// believing its findings. "" otherwise.
  std::string guess;
  bool operator==(const OpTestReport&) const = default;
};

enum class JobLineKind {
  Failure,  ///< A case that failed, or an op that could not run.
  Warning,  ///< What the author of the kernels should know.
  Compiling,  ///< How far compiling is; `done` of `total` kernels.
  Note,  ///< Anything else.
};
inline constexpr JobLineKind kLastJobLineKind = JobLineKind::Note;
/// The name on the wire, and back.
const char* name_of(JobLineKind value);
std::optional<JobLineKind> job_line_kind_from_name(const std::string& name);

/// A line of a job's log.
struct JobLine {
  JobLineKind kind = JobLineKind::Failure;
  std::string text;
  uint64_t done = 0;
  uint64_t total = 0;
  bool operator==(const JobLine&) const = default;
};

/// What happened in a job: an op began in a dtype, one of its cases failed (`failure`), or nothing
/// more is to come of it (`report`).
struct JobEvent {
  std::string op_name;
  std::optional<DType> dtype;  ///< Absent for a failed case, whose result has it.
  std::optional<ValidationResult> failure;  ///< Without the inputs.
  std::optional<OpTestReport> report;  ///< Its counts so far, without cases.
  bool operator==(const JobEvent&) const = default;
};

}  // namespace gpuemu
