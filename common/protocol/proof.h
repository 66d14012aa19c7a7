// What runs of many cases say beside pass and fail: how much the passing cases prove, what they
// reached of the kernel, how large its own errors are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// How much the passing cases of an op in one dtype prove.
struct Proof {
  DType dtype = DType::Float32;
  uint64_t judged = 0;   ///< Passing cases whose values were compared.
  uint64_t telling = 0;  ///< Of those: no trivial output would have passed as well.
  uint64_t exact = 0;    ///< Of those that were compared: without any tolerance.
  std::map<std::string, uint64_t> trivial;     ///< Cases that this output would pass, by its name.
  std::map<std::string, uint64_t> strategies;  ///< Telling cases per value strategy.
  /// Upper limit, with 95 % confidence, of the share of such cases that would fail. Absent where
  /// one did.
  std::optional<double> failure_limit;
  /// Where it ends: dims of which larger sizes are declared than any judged case had, with the
  /// largest that one had.
  std::map<std::string, int64_t> up_to = {};
  /// The dims of the largest judged case, where every dim was at its largest and never all at once.
  std::map<std::string, int64_t> largest = {};
  bool operator==(const Proof&) const = default;
};

/// What a search that follows coverage has reached.
struct SearchReport {
  uint64_t replayed = 0;  ///< Corpus entries that ran first; part of the total.
  uint64_t grown = 0;     ///< Cases that reached something new.
  uint64_t corpus = 0;    ///< Entries that are kept for the next time.
  uint64_t blocks = 0, blocks_total = 0, edges = 0, edges_total = 0;
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
  uint32_t branch = 0;   ///< Among the branches of the line, from 0.
  uint32_t way = 0;      ///< Of the branch, from 0.
  uint32_t to_line = 0;  ///< Where it goes on, of the same file; 0 where that is another file.
  uint64_t hits = 0;     ///< Threads that went it.
  bool operator==(const BranchWay&) const = default;
};

/// What cases reached of one kernel.
struct KernelCoverageReply {
  std::string kernel;
  std::vector<std::string> ops;  ///< Whose cases ran.
  uint64_t seed = 0, cases = 0, failed = 0;
  uint64_t replayed = 0;  ///< Of the cases, those of the corpus.
  std::vector<CoveredLine> lines;
  std::vector<BranchWay> branches;
  uint64_t blocks = 0, blocks_total = 0, edges = 0, edges_total = 0;
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const KernelCoverageReply&) const = default;
};

/// The largest errors of passing cases with values of one strategy.
struct CalibrationRow {
  std::string value_strategy;
  uint64_t cases = 0;
  double max_abs = 0, max_rel = 0;
  uint64_t max_ulp = 0;
  double bound_use = 0;  ///< Of the tolerance in force; 1 is the limit.
  bool operator==(const CalibrationRow&) const = default;
};
struct CalibratedDType {
  DType dtype = DType::Float32;
  uint64_t cases = 0;
  uint64_t left_out = 0;      ///< Cases that fail, so their errors are not the kernel's usual ones.
  double atol = 0, rtol = 0;  ///< Twice the largest error that was seen, as a tolerance.
  bool is_exact = false;      ///< No error was seen.
  std::string skipped_reason;
  std::vector<CalibrationRow> rows;
  bool operator==(const CalibratedDType&) const = default;
};
struct CalibrationReply {
  std::string op_name, kernel;
  uint64_t seed = 0;
  std::string backend, device;
  std::vector<CalibratedDType> dtypes;
  std::string incomplete;  ///< An addition of ours: what ended the run early, "" when all was done.
  bool operator==(const CalibrationReply&) const = default;
};

}  // namespace gpuemu
