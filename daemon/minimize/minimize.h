// Makes a failing case smaller. Pure search over dims and values; what a case is and whether it
// still fails is the caller's function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

using Dims = std::map<std::string, int64_t>;

/// Runs the case with these dims: the kind of its failure (any text or number that tells kinds
/// apart), or nothing when it passes or cannot be built.
using DimsTrial = std::function<std::optional<std::string>(const Dims& dims)>;

struct DimsOptions {
  Dims lower;                       ///< Smallest legal value per dim; 1 where absent.
  uint64_t trials_max = 200;        ///< Calls of the trial function.
  std::function<bool()> cancelled;  ///< May be empty.
};

struct DimsMinimum {
  Dims dims;         ///< The smallest failing ones found; the start's when nothing smaller fails.
  std::string kind;  ///< Of the failure that was kept.
  uint64_t trials = 0;
  bool complete = false;  ///< No single dim can shrink further; false when trials ran out.
};

/// Shrinks every dim as far as the failure of the same kind persists: lower bound first, then by
/// halving, to a fixed point, then steps of one, and pairs of dims together. REQUIRES: the case
/// fails with `kind` at `start`.
DimsMinimum minimize_dims(const Dims& start, const std::string& kind, const DimsTrial& trial,
                          const DimsOptions& options);

/// The values of a case: where they come from and by which factor they are narrowed.
struct ValueChoice {
  std::string strategy;
  double scale = 1.0;
};
using ValueTrial = std::function<std::optional<std::string>(const ValueChoice& choice)>;

struct ValueOptions {
  std::vector<std::string> simpler{"zeros", "constant", "small_int",
                                   "impulse"};  ///< Simplest first.
  uint64_t trials_max = 100;
  uint64_t halvings_max = 24;  ///< Of a scale of 1.
  std::function<bool()> cancelled;
};

struct ValueMinimum {
  ValueChoice choice;
  std::string kind;
  uint64_t trials = 0;
};

/// The simplest strategy that keeps the failure, then by binary search the smallest power of two as
/// scale. REQUIRES: the case fails with `kind` at `start`.
ValueMinimum minimize_values(const ValueChoice& start, const std::string& kind,
                             const ValueTrial& trial, const ValueOptions& options);

/// A case by what minimization may change.
struct CaseChoice {
  Dims dims;
  ValueChoice values;
};
using CaseTrial = std::function<std::optional<std::string>(const CaseChoice& choice)>;

struct CaseSearch {
  Dims lower;  ///< As in DimsOptions.
  /// Dims that may have these sizes only, each list ascending; the search goes along the list.
  std::map<std::string, std::vector<int64_t>> sizes;
  bool change_dims = true, change_values = true;
  uint64_t trials_max = 100;        ///< Calls of the trial function, of both searches together.
  std::function<bool()> cancelled;  ///< May be empty.
};

struct CaseMinimum {
  CaseChoice choice;
  uint64_t trials = 0;
  bool complete = false;  ///< Neither search finds anything smaller; false when trials ran out.
};

/// Dims, then values, then dims again with those values, until neither shrinks: simpler values
/// often fail at smaller sizes. REQUIRES: the case fails with `kind` at `start`.
CaseMinimum minimize_case(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                          const CaseSearch& search);

}  // namespace gpuemu
