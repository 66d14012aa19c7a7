#include "daemon/server/access.h"

#include <chrono>
#include <thread>

#include <unistd.h>

#include "common/process/acting_user.h"
#include "daemon/sessions/client_names.h"

namespace gpuemu {
namespace {

constexpr std::chrono::seconds kUnauthorizedDelay{1};

/// Returns whether it concerns all users' records, or the daemon as a whole.
bool is_for_owner(const Request& request) {
  return is_one_of<ShutdownRequest, SetDefaultProjectRequest, StorageBackupRequest,
                   StorageVerifyRequest, StorageCompactRequest, StorageClaimRequest>(request);
}

ErrorReply unauthorized(std::string message) {
  return {WireErrorCode::Unauthorized, std::move(message)};
}

}  // namespace

bool runs_files(const Request& request) {
  if (about_of(request) != About::Project) return false;
  return !is_one_of<OpenSessionRequest, DaemonStatusRequest, DevicesRequest, GetResultRequest,
                    DeleteFailuresRequest, StoreFailureRequest, StoreResultsRequest,
                    GetBaselineRequest, DeleteBaselineRequest, GetArtifactRequest,
                    GetCiSummaryRequest>(request);
}

bool stores_records(const Request& request) {
  return is_one_of<StoreFailureRequest, StoreResultsRequest, StoreBaselineRequest,
                   StoreArtifactRequest>(request);
}

std::optional<ErrorReply> refusal(const Request& request, const std::string& user,
                                  const Share& share) {
  if (user.empty() || std::holds_alternative<PingRequest>(request)) return std::nullopt;
  if (!share.admits(user)) {
    return unauthorized(
        fmt::format("user {} may not use this daemon; its user adds the name to "
                    "daemon.share.users",
                    user));
  }
  const std::string own = user_name(::geteuid());
  if (is_for_owner(request)) {
    return unauthorized(
        fmt::format("{} concerns all users; only {}, whose daemon this is, and root may ask for it",
                    type_of(request), own));
  }
  if (may_act_for_others() || !runs_files(request)) return std::nullopt;
  return unauthorized(
      fmt::format("this daemon runs as {} and cannot run files of {}; start it as "
                  "root or give {} one of her own",
                  own, user, user));
}

std::optional<ErrorReply> token_refusal(const Request& request, const Sessions::Visit& visit) {
  if (visit.is_authorized() || std::holds_alternative<PingRequest>(request)) return std::nullopt;
  return unauthorized(
      fmt::format("{} names no session; this daemon requires one that was opened with the token in "
                  "its daemon.share.token_file (GPUEMU_TOKEN_FILE)",
                  type_of(request)));
}

std::string refused_line(const ErrorReply& reply, const ClientPeer& peer) {
  return fmt::format("refused {} of {}: {}", client_name(peer.pid), user_name(peer.uid),
                     reply.message);
}

void delay_unauthorized() { std::this_thread::sleep_for(kUnauthorizedDelay); }

}  // namespace gpuemu
