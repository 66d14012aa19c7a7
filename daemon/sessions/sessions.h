// The sessions of a daemon: explicit ones, which OpenSession opens, and one for each process that
// asks without. Each has a share of the lanes and limits, and ends with its clients.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/errors.gen.h"
#include "common/protocol/sessions.gen.h"
#include "common/transport/server.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/sessions/share.h"

namespace gpuemu {

/// How long a session outlives its last connection: a client may connect again at once.
inline constexpr std::chrono::milliseconds kSessionLinger{1'000};
/// What OpenSession may ask for, and has where it does not.
inline constexpr uint64_t kSessionQueue = 64;
inline constexpr std::chrono::milliseconds kSessionLease{30'000};
inline constexpr size_t kSessionNameBytesMax = 128;

/// Thread-safe. Outlives the server whose connections it is told of, and all claims' work.
class Sessions {
 public:
  using Clock = std::chrono::steady_clock;

  /// `share` outlives it.
  explicit Sessions(Share& share) : share_(share) {}
  /// Ends nothing: whoever stops the daemon has ended the work.
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  /// Begins to end sessions when their time has come.
  Status start();
  void connected(const ClientPeer& peer);
  void disconnected(const ClientPeer& peer);

  /// `project` is the id of what its requests are about; "": the default at that time. Connections
  /// belong to it from their first request that names it, `peer` at once. InvalidRequest for a
  /// value that no session can have, Unauthorized for a wrong token, LimitExceeded for more than
  /// the user may have, Busy where there are too many.
  std::variant<SessionOpenedReply, ErrorReply> open(const OpenSessionRequest& request,
                                                    const std::string& project,
                                                    const ClientPeer& peer);
  /// Why this client may not change the session that these name, as for close(): it is another
  /// user's, or may not have that weight.
  std::optional<ErrorReply> refusal(const std::string& secret, const std::string& name,
                                    std::optional<double> weight, const ClientPeer& peer) const;
  /// By `name` where it is not "", else by the secret. NotFound where there is none.
  Status close(const std::string& secret, const std::string& name);
  /// As close(); InvalidArgument as open().
  Result<SessionInfo> set(const SetSessionRequest& request);
  /// In the order of their opening.
  std::vector<SessionInfo> list() const;
  /// Says why requests wait that would run now elsewhere; "": they do not. Any thread, no lock held
  /// but that of the sessions. REQUIRES: before start().
  void why_waiting(std::function<std::string()> why) { why_waiting_ = std::move(why); }
  /// Told the number of each session that has ended, with no lock held.
  void on_end(std::function<void(uint64_t number)> told);

 private:
  struct Session;

 public:
  /// One request under way. While it is, the session's lease does not run out.
  class Visit {
   public:
    Visit(Visit&& other) noexcept = default;
    Visit& operator=(Visit&&) = delete;
    ~Visit();
    /// The project that requests without one are about; "": the default.
    const std::string& project() const;
    SessionClass session_class() const;
    /// Whether its requests are answered: the daemon asks for no token, or it was opened with it.
    bool is_authorized() const;
    uint64_t number() const;
    const std::shared_ptr<LaneSession>& lanes() const;
    /// Whether OpenSession opened it; else it is that of a process.
    bool is_explicit() const;

   private:
    friend class Sessions;
    Visit(Sessions& sessions, std::shared_ptr<Session> session)
        : sessions_(&sessions), session_(std::move(session)) {}
    Sessions* sessions_;
    std::shared_ptr<Session> session_;  ///< Null after a move.
  };
  /// The session with this secret visited; "": that of the client's process. NotFound where there
  /// is none for this client.
  Result<Visit> visit(const std::string& secret, const ClientPeer& peer);
  /// Whether a session has this secret.
  bool is_open(const std::string& secret) const;
  /// A claim for what the visit's request runs: SessionNotFound, Busy or LimitExceeded where it may
  /// not begin now.
  std::variant<LaneClaim, ErrorReply> begin(const Visit& visit, Urgency urgency);

  /// Ends all work, now and later: the daemon stops.
  void stop_work();
  /// Ends those whose time has come.
  void end_overdue(Clock::time_point now);

 private:
  using Handle = std::shared_ptr<Session>;
  using Uses = std::vector<LaneClaim>;

  Handle own_session(const ClientPeer& peer);
  Handle find(const std::string& secret, const std::string& name) const;
  std::vector<Handle> all() const;
  bool is_of(const Session& session, const ClientPeer& peer) const;
  std::optional<ErrorReply> quota_refusal(const OpenSessionRequest& request,
                                          const std::string& user) const;
  std::string free_name(const std::string& wanted) const;
  Handle make(const std::string& name, const ClientPeer& peer);
  Uses remove(const Handle& session, bool with_jobs);
  /// What is left to do for a session that is removed, with no lock held.
  struct Over {
    std::string name;
    uint64_t number = 0;
    Uses uses;
  };
  void stop(const Over& over) const;
  void watch();

  Share& share_;
  std::function<std::string()> why_waiting_;  ///< Set before start(), or null.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::thread watch_;
  // Guarded by mutex_:
  bool ended_ = false, is_stopping_ = false;
  uint64_t last_number_ = 0;
  std::function<void(uint64_t number)> told_end_;
  std::set<uint64_t> connections_;          ///< All that are open.
  std::map<std::string, Handle> explicit_;  ///< By secret.
  /// By process; those that cannot be told apart by connection.
  std::map<std::pair<pid_t, uint64_t>, Handle> own_;
};

}  // namespace gpuemu
