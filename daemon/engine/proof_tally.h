// Adds up what passing cases prove. Order does not matter.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/protocol/proof.h"
#include "daemon/engine/run_case.h"

namespace gpuemu {

class ProofTally {
 public:
  void add(const CaseOutcome& outcome, const std::string& value_strategy);
  /// Nothing where no passing case was judged.
  std::optional<Proof> proof(DType dtype) const;

 private:
  std::map<std::pair<std::string, uint32_t>, uint64_t> cases_;  ///< By strategy and Power::passing.
  uint64_t exact_ = 0, failed_ = 0;
  bool copies_ = true;  ///< So far the first input was the answer of every case.
};

}  // namespace gpuemu
