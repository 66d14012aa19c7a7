// What one launch of a kernel shows about its tensors, sizes and sums.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/proposals/propose.h"
#include "cli/trials/index_search.h"
#include "cli/trials/observations.h"
#include "cli/trials/trial.h"

namespace gpuemu::cli {

/// For example for one size that is rounded down, in two tensors.
inline constexpr size_t kDoubtsFew = 2;

/// Collects what one launch shows about the kernel's tensors.
class Settlement {
 public:
  Settlement(Probe& probe, std::string entry, ProposedKernel kernel)
      : kernel_(std::move(kernel)), trial_(probe, std::move(entry), kernel_, kernel_.launch()) {}

  /// Returns how many tensors have a shape; sets `problem` to the failure if the launch never runs.
  size_t learn(const std::vector<Sizes>& tries, std::string& problem);

  size_t tensors() const;
  /// Determines the roles, the sizes and the sums; call it when every tensor has its shape.
  bool finish();
  ProposedKernel take();
  /// Counts unlikely shapes: a number alone, an expression of a size that the grid does not have,
  /// sizes that only ran with one value.
  size_t doubts() const;

 private:
  bool observe();
  /// Treats integers that no launch writes as const, whatever their parameter says: they may be
  /// indices.
  bool take_indices_for_const();
  bool is_meant(const Sizes& sizes) const;
  std::vector<std::string> all_dims() const;
  void find_shapes();
  uint64_t written_of(const ProposedParam& tensor) const;
  void find_roles();
  Sizes with_tables(Sizes sizes) const;
  /// Integers that no size depends on become attributes. Returns false if one is the length of a
  /// row, which a shape must show.
  bool name_attrs();
  /// Keeps the values of each integer with which the kernel runs, and sets it in `base` to the
  /// first of them. Returns false if none is left.
  bool keep_values(Sizes& base);

  ProposedKernel kernel_;
  Trial trial_;
  Observations observed_;
  FoundIndices indices_;
};

}  // namespace gpuemu::cli
