#include "daemon/sessions/share.h"

#include <algorithm>

#include <grp.h>
#include <unistd.h>

#include "common/base/blake2.h"
#include "daemon/sessions/client_names.h"

namespace gpuemu {
namespace {

constexpr size_t kGroupRecordBytes = 65'536;

Result<gid_t> find_group(const std::string& name) {
  std::vector<char> text(kGroupRecordBytes);
  group record{};
  group* found = nullptr;
  ::getgrnam_r(name.c_str(), &record, text.data(), text.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return error(ErrorCode::InvalidArgument,
               "daemon.share.group: no group '{}' on this machine; make it (groupadd) or name "
               "another",
               name);
}

}  // namespace

Result<std::unique_ptr<Share>> Share::make(const std::optional<ShareConfig>& config) {
  auto share = std::make_unique<Share>();
  share->config_ = config;
  if (!config) return share;
  if (!config->group.empty()) share->group_ = GPUEMU_TRY(find_group(config->group));
  if (!config->token_file.empty()) share->token_ = GPUEMU_TRY(read_token(config->token_file));
  for (const auto& [user, quota] : config->quotas) {
    if (!quota.device_seconds_per_day) continue;
    share->budgets_[user] = std::make_shared<DayBudget>(user, *quota.device_seconds_per_day);
  }
  return share;
}

std::string Share::user_of(const ClientPeer& peer) const {
  return peer.uid == ::geteuid() || peer.uid == 0 ? "" : user_name(peer.uid);
}

bool Share::admits(const std::string& user) const {
  if (user.empty() || !config_ || config_->users.empty()) return true;
  return std::ranges::find(config_->users, user) != config_->users.end();
}

/// Compares digests, all bytes of them: the time tells nothing about the token.
bool Share::is_token(std::string_view token) const {
  const std::string given = content_hash({token}), expected = content_hash({token_});
  unsigned differs = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    differs |= static_cast<unsigned>(given[i] ^ expected[i]);
  }
  return differs == 0 && asks_token();
}

UserQuota Share::quota_of(const std::string& user) const {
  if (!config_) return {};
  const auto found = config_->quotas.find(user);
  return found == config_->quotas.end() ? UserQuota() : found->second;
}

std::shared_ptr<DayBudget> Share::budget_of(const std::string& user) {
  const auto found = budgets_.find(user);
  return found == budgets_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<DayBudget>> Share::budgets() const {
  std::vector<std::shared_ptr<DayBudget>> all;
  for (const auto& [user, budget] : budgets_) all.push_back(budget);
  return all;
}

}  // namespace gpuemu
