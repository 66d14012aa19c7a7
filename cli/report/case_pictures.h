// The data that pages show of failing cases, requested from the daemon before the page is made.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

struct CasePictures {
  std::vector<ReproduceResultReply> cases;  ///< Repeated with their details.
  std::string note;                         ///< Why some findings have none; "" if all have.

  /// Returns the case of this op and seed; null if there is none.
  const ReproduceResultReply* find(const std::string& op, uint64_t seed) const {
    for (const ReproduceResultReply& one : cases) {
      if (one.result.op_name == op && one.result.seed == seed) return &one;
    }
    return nullptr;
  }
};

}  // namespace gpuemu::cli
