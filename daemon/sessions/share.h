// Decides which users may use a shared daemon, and how much of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"
#include "common/config/share.h"
#include "common/transport/server.h"
#include "daemon/schedule/day_budget.h"

namespace gpuemu {

/// Thread-safe.
class Share {
 public:
  /// For the daemon's own user alone.
  Share() = default;
  /// InvalidArgument where there is no such group, or no token that only its owner can read.
  static Result<std::unique_ptr<Share>> make(const std::optional<ShareConfig>& config);

  /// Whether several users use the daemon.
  bool is_shared() const { return config_.has_value(); }
  /// Who may connect besides the daemon's user.
  std::optional<gid_t> group() const { return group_; }
  /// The name of the user at the other end; "" for the daemon's user and for root, who may do
  /// everything.
  std::string user_of(const ClientPeer& peer) const;
  /// Whether the user, "" for the daemon's, may ask for anything.
  bool admits(const std::string& user) const;
  bool asks_token() const { return !token_.empty(); }
  /// Takes the same time whatever the token is.
  bool is_token(std::string_view token) const;

  UserQuota quota_of(const std::string& user) const;
  /// Null for a user whose device time is not limited.
  std::shared_ptr<DayBudget> budget_of(const std::string& user);
  std::vector<std::shared_ptr<DayBudget>> budgets() const;

 private:
  std::optional<ShareConfig> config_;
  std::optional<gid_t> group_;
  std::string token_;
  std::map<std::string, std::shared_ptr<DayBudget>> budgets_;  ///< Complete once made.
};

}  // namespace gpuemu
