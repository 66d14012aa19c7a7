// How long records of a project stay in the database.
#pragma once

#include <cstdint>

namespace gpuemu {

/// 0 means unlimited.
struct Retention {
  uint64_t passing_days = 30, passing_count = 200'000;
  uint64_t failure_days = 0, failure_count = 20'000;
  uint64_t artifact_count = 50;  ///< Newest metrics kept per kernel.
  uint64_t run_count = 200;
  uint64_t bytes = uint64_t{8} << 30;
  uint64_t prune_minutes = 60;  ///< Interval of automatic pruning by the daemon; 0: never.
};

}  // namespace gpuemu
