// [daemon.share]: who besides its owner may use a daemon, and how much of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

/// What one user may use; absent: without a limit.
struct UserQuota {
  std::optional<double> weight;                  ///< The most, and what sessions begin with.
  std::optional<double> device_seconds_per_day;  ///< From midnight to midnight, UTC.
  std::optional<uint64_t> storage_bytes;         ///< Records of all projects.
  std::optional<uint64_t> sessions_max;          ///< Sessions that are open at one time.
};

struct ShareConfig {
  std::string group;                        ///< May use the socket; "": only the daemon's user.
  std::vector<std::string> users;           ///< Only these of the group; empty: all of it.
  std::string token_file;                   ///< Absolute; "": none is asked for.
  std::map<std::string, UserQuota> quotas;  ///< By user name.
};

/// The token of a daemon.share.token_file, without blanks around it. InvalidArgument where
/// everybody may read the file, where it cannot be read and where it holds none.
Result<std::string> read_token(const std::string& file);

}  // namespace gpuemu
