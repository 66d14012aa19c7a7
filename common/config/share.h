// [daemon.share]: which other users may use a daemon, and how much of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

/// Limits of one user; absent: unlimited.
struct UserQuota {
  std::optional<double> weight;  ///< Upper limit and initial value of the weight of sessions.
  std::optional<double> device_seconds_per_day;  ///< From midnight to midnight UTC.
  std::optional<uint64_t> storage_bytes;         ///< Records of all projects.
  std::optional<uint64_t> sessions_max;          ///< Simultaneously open sessions.
};

struct ShareConfig {
  std::string group;               ///< Group that may use the socket; "": only the daemon's user.
  std::vector<std::string> users;  ///< Only these members of the group; empty: all.
  std::string token_file;          ///< Absolute path; "": no token is required.
  std::map<std::string, UserQuota> quotas;  ///< By user name.
};

/// Returns the token in a daemon.share.token_file, without surrounding blanks. InvalidArgument if
/// others may read the file, it cannot be read, or it is empty.
Result<std::string> read_token(const std::string& file);

}  // namespace gpuemu
