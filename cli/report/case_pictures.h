// What pages draw of failing cases: asked of the daemon before the page is made.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

struct CasePictures {
  std::vector<ReproduceResultReply> cases;  ///< Run again with their details.
  std::string note;                         ///< Why some findings have none; "" when all have.

  /// The case of this op and seed; null when it is not there.
  const ReproduceResultReply* find(const std::string& op, uint64_t seed) const {
    for (const ReproduceResultReply& one : cases) {
      if (one.result.op_name == op && one.result.seed == seed) return &one;
    }
    return nullptr;
  }
};

}  // namespace gpuemu::cli
