// Adds up what passing cases prove. Order does not matter.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/evidence.gen.h"
#include "daemon/case/case_report.h"

namespace gpuemu {

class EvidenceTally {
 public:
  using Dims = std::map<std::string, int64_t>;

  void add(const CaseReport& outcome, const std::string& value_strategy, const Dims& dims = {});
  /// As all the cases that these were counted of.
  void add(const EvidenceCounts& counts);
  /// Nothing where no passing case was judged. It holds for sizes up to those of its cases:
  /// `declared` tells whether these are all.
  std::optional<Evidence> evidence(DType dtype, const std::vector<DimSpec>& declared = {}) const;
  /// With what adding it up takes, also where no case passed. Nothing where no case was added.
  std::optional<Evidence> piece(DType dtype) const;

 private:
  EvidenceCounts counts() const;
  void limit_sizes(const std::vector<DimSpec>& declared, Evidence& evidence) const;

  std::map<std::pair<std::string, uint32_t>, uint64_t>
      cases_;  ///< By strategy and TrivialOutputs::passing.
  uint64_t exact_ = 0, failed_ = 0;
  Dims reached_;        ///< The largest size of each dim in a judged case.
  Dims largest_;        ///< Dims of the judged case whose dims have the largest product.
  bool copies_ = true;  ///< So far the first input was the answer of every case.
};

}  // namespace gpuemu
