// Adds up the evidence that passing cases give. The order of the cases does not matter.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/op_config.h"
#include "common/protocol/evidence.gen.h"
#include "daemon/case/case_report.h"

namespace gpuemu {

class EvidenceTally {
 public:
  using Dims = std::map<std::string, int64_t>;

  void add(const CaseReport& outcome, const std::string& value_strategy, const Dims& dims = {});
  /// Adds counts as if all the cases behind them were added.
  void add(const EvidenceCounts& counts);
  /// Returns nothing if no passing case was judged. The evidence holds for sizes up to those of the
  /// cases; `declared` decides whether these are all declared sizes.
  std::optional<Evidence> evidence(DType dtype, const std::vector<DimSpec>& declared = {}) const;
  /// Includes what is needed to add pieces up, even if no case passed. Returns nothing if no case
  /// was added.
  std::optional<Evidence> piece(DType dtype) const;

 private:
  EvidenceCounts counts() const;
  void limit_sizes(const std::vector<DimSpec>& declared, Evidence& evidence) const;

  std::map<std::pair<std::string, uint32_t>, uint64_t>
      cases_;  ///< By strategy and TrivialOutputs::passing.
  uint64_t exact_ = 0, failed_ = 0;
  Dims reached_;        ///< The largest size of each dim in a judged case.
  Dims largest_;        ///< Dims of the judged case whose dims have the largest product.
  bool copies_ = true;  ///< The first input has been the right answer of every case so far.
};

}  // namespace gpuemu
