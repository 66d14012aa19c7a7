// Makes a failing case smaller: searches over dims, layout, attributes and values. The caller's
// function defines what a case is and whether it still fails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/vocabulary.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

using Dims = std::map<std::string, int64_t>;

/// Runs the case with these dims. Returns the kind of its failure (any text or number that
/// distinguishes kinds), or nothing if it passes or cannot be built.
using DimsTrial = std::function<std::optional<std::string>(const Dims& dims)>;

struct DimsOptions {
  Dims lower;                       ///< Smallest legal value per dim; 1 if absent.
  uint64_t trials_max = 200;        ///< Limit of trial calls.
  std::function<bool()> cancelled;  ///< May be empty.
};

struct DimsMinimum {
  Dims dims;         ///< The smallest failing ones; the start's if nothing smaller fails.
  std::string kind;  ///< Kind of the preserved failure.
  uint64_t trials = 0;
  bool complete = false;  ///< No single dim can shrink further; false if the trials ran out.
};

/// Shrinks every dim as far as the same kind of failure persists: first to its lower bound, then by
/// bisection to a fixed point, then in steps of one, then pairs of dims together. Requires the case
/// to fail with `kind` at `start`.
DimsMinimum minimize_dims(const Dims& start, const std::string& kind, const DimsTrial& trial,
                          const DimsOptions& options);

/// The values of a case: their strategy, and the factor that narrows them.
struct ValueChoice {
  Strategy strategy = Strategy::None;
  double scale = 1.0;
};
using ValueTrial = std::function<std::optional<std::string>(const ValueChoice& choice)>;

struct ValueOptions {
  std::vector<Strategy> simpler{Strategy::Zeros, Strategy::Constant, Strategy::SmallInt,
                                Strategy::Impulse};  ///< Simplest first.
  uint64_t trials_max = 100;
  uint64_t halvings_max = 24;  ///< From a scale of 1.
  std::function<bool()> cancelled;
};

struct ValueMinimum {
  ValueChoice choice;
  std::string kind;
  uint64_t trials = 0;
};

/// Finds the simplest strategy that keeps the failure, then the smallest power of two as scale, by
/// binary search. Requires the case to fail with `kind` at `start`.
ValueMinimum minimize_values(const ValueChoice& start, const std::string& kind,
                             const ValueTrial& trial, const ValueOptions& options);

/// Tries a case in which only the elements `kept` (ascending) of its inputs keep their values; the
/// others get the simplest one.
using ElementTrial = std::function<bool(const std::vector<size_t>& kept)>;

struct ElementMinimum {
  std::vector<size_t> kept;
  uint64_t trials = 0;
};

/// Delta debugging: tries the empty set, then removes ever smaller blocks, down to single elements.
/// Requires the case to fail with all of `elements`.
ElementMinimum minimize_elements(const std::vector<size_t>& elements, const ElementTrial& trial,
                                 uint64_t trials_max);

/// How many elements the inputs have, and how many of them are not yet simple.
struct ElementCount {
  uint64_t all = 0, differing = 0;
};
ElementCount count_elements(const NamedTensors& inputs,
                            const std::map<std::string, double>& simplest);

/// The parts of a case that minimization may change.
struct CaseChoice {
  Dims dims;
  ValueChoice values;
  MemoryLayout layout = MemoryLayout::Contiguous;
  std::map<std::string, double> attrs = {};
  /// The inputs' elements, if single ones were changed; `values` is then unused.
  std::shared_ptr<const NamedTensors> stored = {};
};
using CaseTrial = std::function<std::optional<std::string>(const CaseChoice& choice)>;

struct CaseSearch {
  Dims lower;  ///< See DimsOptions.
  /// Dims that may only have these sizes, each list ascending; the search moves along the list.
  std::map<std::string, std::vector<int64_t>> sizes;
  std::vector<MemoryLayout> layouts;                 ///< Simplest first.
  std::map<std::string, std::vector<double>> attrs;  ///< Allowed values of each attribute.
  /// Returns the inputs of a choice; empty if elements must not be changed.
  std::function<NamedTensors(const CaseChoice& choice)> inputs_of;
  std::map<std::string, double> simplest;  ///< Simplest value by input; 0 if absent.
  bool change_dims = true, change_values = true;
  uint64_t trials_max = 100;        ///< Limit of trial calls over all searches.
  std::function<bool()> cancelled;  ///< May be empty.
};

struct CaseMinimum {
  CaseChoice choice;
  uint64_t trials = 0;
  bool complete = false;  ///< No search finds anything smaller; false if the trials ran out.
};

/// Minimizes layout and attributes; then dims and values in turn until nothing shrinks, because
/// simpler values often fail at smaller sizes; finally single elements, and the sizes that contain
/// those left. Requires the case to fail with `kind` at `start`.
CaseMinimum minimize_case(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                          const CaseSearch& search);

}  // namespace gpuemu
