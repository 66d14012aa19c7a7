// Makes a failing case smaller. Pure search over dims, layout, attributes and values; what a case
// is and whether it still fails is the caller's function.
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
  std::string kind;  ///< Kind of the failure that was kept.
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

/// The simplest strategy that keeps the failure, then by binary search the smallest power of two as
/// scale. REQUIRES: the case fails with `kind` at `start`.
ValueMinimum minimize_values(const ValueChoice& start, const std::string& kind,
                             const ValueTrial& trial, const ValueOptions& options);

/// Tries a case in which only the elements `kept` (ascending) of its inputs keep their value; the
/// others take the simplest one.
using ElementTrial = std::function<bool(const std::vector<size_t>& kept)>;

struct ElementMinimum {
  std::vector<size_t> kept;
  uint64_t trials = 0;
};

/// Delta debugging: none at all, then without ever smaller blocks, down to single elements.
/// REQUIRES: the case fails with all of `elements`.
ElementMinimum minimize_elements(const std::vector<size_t>& elements, const ElementTrial& trial,
                                 uint64_t trials_max);

/// Elements of inputs, and how many of them are not as simple as they could be.
struct ElementCount {
  uint64_t all = 0, differing = 0;
};
ElementCount count_elements(const NamedTensors& inputs,
                            const std::map<std::string, double>& simplest);

/// A case by what minimization may change.
struct CaseChoice {
  Dims dims;
  ValueChoice values;
  MemoryLayout layout = MemoryLayout::Contiguous;
  std::map<std::string, double> attrs = {};
  /// The inputs' elements, when single ones were changed; `values` then says nothing.
  std::shared_ptr<const NamedTensors> stored = {};
};
using CaseTrial = std::function<std::optional<std::string>(const CaseChoice& choice)>;

struct CaseSearch {
  Dims lower;  ///< As in DimsOptions.
  /// Dims that may have these sizes only, each list ascending; the search goes along the list.
  std::map<std::string, std::vector<int64_t>> sizes;
  std::vector<MemoryLayout> layouts;                 ///< Simplest first.
  std::map<std::string, std::vector<double>> attrs;  ///< The values that each may have.
  /// Inputs of a choice, and the simplest value of each; empty where elements are not to be
  /// changed.
  std::function<NamedTensors(const CaseChoice& choice)> inputs_of;
  std::map<std::string, double> simplest;  ///< By input; 0 where absent.
  bool change_dims = true, change_values = true;
  uint64_t trials_max = 100;        ///< Calls of the trial function, of all searches together.
  std::function<bool()> cancelled;  ///< May be empty.
};

struct CaseMinimum {
  CaseChoice choice;
  uint64_t trials = 0;
  bool complete = false;  ///< No search finds anything smaller; false when trials ran out.
};

/// Layout and attributes; then dims, then values, then dims again with those values, until nothing
/// shrinks: simpler values often fail at smaller sizes. At last single elements, and the sizes that
/// hold those left. REQUIRES: the case fails with `kind` at `start`.
CaseMinimum minimize_case(const CaseChoice& start, const std::string& kind, const CaseTrial& trial,
                          const CaseSearch& search);

}  // namespace gpuemu
