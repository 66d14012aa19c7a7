#include "daemon/sessions/sessions.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <system_error>

#include "common/base/clock.h"
#include "common/base/service_limits.h"
#include "common/protocol/wire_errors.h"
#include "daemon/sessions/client_names.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;

// Between two looks at whose time has come; a session must be gone within 2 s of it.
constexpr milliseconds kLook{100};
constexpr const char* kDaemonStopped = "the daemon was stopped";
constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr uint64_t kMemoryLimitMax = uint64_t{1} << 40;  // In MiB.
constexpr double kTimeLimitMax = 1e9;                    // In seconds: 30 years.
constexpr double kMicrosecondsPerSecond = 1e6, kMicrosecondsPerMillisecond = 1e3;

/// 128 bits from the operating system, in hex.
std::string fresh_secret() {
  std::random_device device;
  std::string secret;
  for (int i = 0; i < 4; ++i) secret += fmt::format("{:08x}", uint32_t{device()});
  return secret;
}

Status check_name(const std::string& name) {
  if (name.empty() || name.size() > kSessionNameBytesMax) {
    return error(ErrorCode::InvalidArgument,
                 "member 'name': a session's name has 1 to {} bytes, got {}", kSessionNameBytesMax,
                 name.size());
  }
  if (!has_control_character(name)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "member 'name': a session's name has no control characters, got one");
}

Status check_number(const char* member, const std::optional<uint64_t>& value, uint64_t most) {
  if (!value || (*value >= 1 && *value <= most)) return ok_status();
  return error(ErrorCode::InvalidArgument, "member '{}' is {}, expected 1 to {}", member, *value,
               most);
}

/// What OpenSession and SetSession both have.
template <typename R>
Status check_limits(const R& request) {
  const auto& weight = request.weight;
  if (weight && !(*weight >= kSessionWeightMin && *weight <= kSessionWeightMax)) {
    return error(ErrorCode::InvalidArgument, "member 'weight' is {}, expected {} to {}", *weight,
                 kSessionWeightMin, kSessionWeightMax);
  }
  const auto& time = request.time_limit_s;
  if (time && !(*time > 0 && *time <= kTimeLimitMax)) {
    return error(ErrorCode::InvalidArgument,
                 "member 'time_limit_s' is {}, expected more than 0 and at most {:g} s", *time,
                 kTimeLimitMax);
  }
  GPUEMU_TRY(check_number("memory_limit_mb", request.memory_limit_mb, kMemoryLimitMax));
  GPUEMU_TRY(check_number("queue_max", request.queue_max, kRequestsUnfinishedMax));
  return check_number("lease_ms", request.lease_ms, uint64_t{kJobLeaseMax.count()});
}

/// Where the user may have no session of that weight.
std::optional<ErrorReply> too_heavy(std::optional<double> weight, const UserQuota& quota,
                                    const std::string& user) {
  if (!weight || !quota.weight || *weight <= *quota.weight) return std::nullopt;
  return ErrorReply{WireErrorCode::LimitExceeded, fmt::format("user {}: weight {} is more than {} "
                                                              "(daemon.share.quota.{}.weight)",
                                                              user, *weight, *quota.weight, user)};
}

}  // namespace

struct Sessions::Session {
  std::string secret;  ///< "": of a process.
  std::pair<pid_t, uint64_t> process;
  std::shared_ptr<LaneSession> lanes;
  SessionInfo told;  ///< What does not follow from the rest.
  std::set<uint64_t> connections;
  size_t visits = 0;              ///< Requests under way.
  Clock::time_point asked, left;  ///< The last request; when the last connection went.
  bool is_over = false;
  std::vector<std::weak_ptr<LaneUse>> uses;

  bool is_explicit() const { return !secret.empty(); }
  bool is_overdue(Clock::time_point now) const {
    if (connections.empty() && now - left >= kSessionLinger) return true;
    const auto& lease = told.limits.lease_ms;
    return lease && visits == 0 && now - asked >= milliseconds(static_cast<int64_t>(*lease));
  }
  SessionInfo info() const {
    SessionInfo info = told;
    info.weight = lanes->weight;
    info.connections = connections.size();
    info.device_ms = static_cast<double>(lanes->used_us) / kMicrosecondsPerMillisecond;
    info.memory_bytes = lanes->memory_bytes();
    for (const auto& one : uses) {
      const LaneClaim use = one.lock();
      if (use == nullptr || use->is_finished()) continue;
      ++(use->is_waiting() ? info.waiting : info.running);
    }
    return info;
  }
  template <typename R>
  void take_limits(const R& request) {
    if (request.weight) lanes->weight = *request.weight;
    if (request.session_class) told.session_class = *request.session_class;
    SessionLimits& limits = told.limits;
    if (request.queue_max) limits.queue_max = *request.queue_max;
    if (request.lease_ms) limits.lease_ms = request.lease_ms;
    if (request.time_limit_s) {
      limits.time_limit_s = request.time_limit_s;
      lanes->limit_us =
          std::max<int64_t>(1, std::llround(*request.time_limit_s * kMicrosecondsPerSecond));
    }
    if (request.memory_limit_mb) {
      limits.memory_limit_mb = request.memory_limit_mb;
      lanes->set_memory_limit(*request.memory_limit_mb * kMebibyte);
    }
  }
};

Sessions::~Sessions() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  if (watch_.joinable()) watch_.join();
}

Status Sessions::start() {
  try {
    watch_ = std::thread([this] { watch(); });
  } catch (const std::system_error& refused) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread to end sessions: {}",
                 refused.what());
  }
  return ok_status();
}

void Sessions::watch() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kLook, [&] { return ended_; })) return;
    }
    end_overdue(Clock::now());
  }
}

void Sessions::connected(const ClientPeer& peer) {
  const std::lock_guard lock(mutex_);
  connections_.insert(peer.connection);
}

void Sessions::disconnected(const ClientPeer& peer) {
  const std::lock_guard lock(mutex_);
  connections_.erase(peer.connection);
  for (const Handle& one : all()) {
    if (one->connections.erase(peer.connection) > 0 && one->connections.empty()) {
      one->left = Clock::now();
    }
  }
}

/// REQUIRES: mutex_ is held.
std::vector<Sessions::Handle> Sessions::all() const {
  std::vector<Handle> found;
  for (const auto& [secret, one] : explicit_) found.push_back(one);
  for (const auto& [process, one] : own_) found.push_back(one);
  std::ranges::sort(found, {}, [](const Handle& one) { return one->lanes->number(); });
  return found;
}

/// "NAME #2" where another session has the name. REQUIRES: mutex_ is held.
std::string Sessions::free_name(const std::string& wanted) const {
  std::set<std::string> taken;
  for (const Handle& one : all()) taken.insert(one->told.name);
  std::string name = wanted;
  for (int number = 2; taken.contains(name); ++number) name = fmt::format("{} #{}", wanted, number);
  return name;
}

/// REQUIRES: mutex_ is held.
Sessions::Handle Sessions::make(const std::string& name, const ClientPeer& peer) {
  auto session = std::make_shared<Session>();
  session->lanes = std::make_shared<LaneSession>(++last_number_, free_name(name));
  session->told.name = session->lanes->name();
  session->told.user = user_name(peer.uid);
  session->lanes->day = share_.budget_of(session->told.user);
  session->lanes->weight = share_.quota_of(session->told.user).weight.value_or(1);
  session->told.pid = static_cast<uint64_t>(std::max<pid_t>(peer.pid, 0));
  session->told.opened = now_seconds();
  session->told.limits.queue_max = kRequestsUnfinishedMax;
  session->asked = session->left = Clock::now();
  return session;
}

/// REQUIRES: mutex_ is held.
Sessions::Handle Sessions::own_session(const ClientPeer& peer) {
  const std::pair process(peer.pid, peer.pid > 0 ? 0 : peer.connection);
  Handle& session = own_[process];
  if (session == nullptr) {
    own_.erase(process);  // Frees its name for the session made below.
    Handle made = make(client_name(peer.pid), peer);
    made->process = process;
    own_[process] = made;
    return made;
  }
  return session;
}

bool Sessions::is_of(const Session& session, const ClientPeer& peer) const {
  const std::string user = share_.user_of(peer);
  return user.empty() || user == session.told.user;
}

/// REQUIRES: mutex_ is held.
std::optional<ErrorReply> Sessions::quota_refusal(const OpenSessionRequest& request,
                                                  const std::string& user) const {
  const UserQuota quota = share_.quota_of(user);
  if (auto refused = too_heavy(request.weight, quota, user)) return refused;
  const auto theirs = std::ranges::count_if(
      explicit_, [&](const auto& one) { return one.second->told.user == user; });
  if (!quota.sessions_max || static_cast<uint64_t>(theirs) < *quota.sessions_max) {
    return std::nullopt;
  }
  return ErrorReply{WireErrorCode::LimitExceeded,
                    fmt::format("user {}: {} of {} sessions are open (sessions_max), renewed when "
                                "one ends; close one (CloseSession)",
                                user, theirs, *quota.sessions_max)};
}

std::variant<SessionOpenedReply, ErrorReply> Sessions::open(const OpenSessionRequest& request,
                                                            const std::string& project,
                                                            const ClientPeer& peer) {
  Status fits = check_name(request.name);
  if (fits) fits = check_limits(request);
  if (!fits) return error_reply(fits.error());
  if (share_.asks_token() && !peer.has_shown_token && !share_.is_token(request.token)) {
    return ErrorReply{WireErrorCode::Unauthorized,
                      fmt::format("OpenSession has {}; this daemon asks for the one in its "
                                  "daemon.share.token_file (GPUEMU_TOKEN_FILE)",
                                  request.token.empty() ? "no token" : "a wrong token")};
  }
  const std::lock_guard lock(mutex_);
  if (explicit_.size() >= kSessionsMax) {
    return busy_reply(
        fmt::format("{} sessions are open, the limit; close one (CloseSession)", kSessionsMax));
  }
  if (auto refused = quota_refusal(request, user_name(peer.uid))) return *std::move(refused);
  const Handle session = make(request.name, peer);
  session->secret = fresh_secret();
  session->told.project = project;
  session->told.limits.queue_max = kSessionQueue;
  session->told.limits.lease_ms = uint64_t{kSessionLease.count()};
  session->take_limits(request);
  if (connections_.contains(peer.connection)) session->connections.insert(peer.connection);
  explicit_[session->secret] = session;
  return SessionOpenedReply{session->secret, session->told.name, session->lanes->weight,
                            session->told.session_class, session->told.limits};
}

/// Null where there is none. REQUIRES: mutex_ is held.
Sessions::Handle Sessions::find(const std::string& secret, const std::string& name) const {
  if (!name.empty()) {
    const std::vector<Handle> there = all();
    const auto found =
        std::ranges::find(there, name, [](const Handle& one) { return one->told.name; });
    return found == there.end() ? nullptr : *found;
  }
  const auto found = explicit_.find(secret);
  return found == explicit_.end() ? nullptr : found->second;
}

namespace {

constexpr size_t kNameShownMax = 64;

/// What was asked for, as far as it may be repeated.
std::string shown(const std::string& text) {
  if (has_control_character(text)) return "with control characters";
  return text.size() <= kNameShownMax ? fmt::format("'{}'", text)
                                      : fmt::format("of {} bytes", text.size());
}

Error no_session(const std::string& name) {
  if (name.empty()) {
    return error(ErrorCode::NotFound,
                 "no such session: it has ended, or never was; OpenSession opens one");
  }
  return error(ErrorCode::NotFound, "no session {}; `gpuemu sessions` lists those there are",
               shown(name));
}

}  // namespace

std::optional<ErrorReply> Sessions::refusal(const std::string& secret, const std::string& name,
                                            std::optional<double> weight,
                                            const ClientPeer& peer) const {
  const std::lock_guard lock(mutex_);
  const Handle session = find(secret, name);
  if (session == nullptr) return std::nullopt;
  const std::string& user = session->told.user;
  if (!is_of(*session, peer)) {
    return ErrorReply{WireErrorCode::Unauthorized,
                      fmt::format("session {} is that of {}; only {} and the daemon's user may "
                                  "change it",
                                  session->told.name, user, user)};
  }
  if (share_.user_of(peer).empty()) return std::nullopt;
  return too_heavy(weight, share_.quota_of(user), user);
}

Status Sessions::close(const std::string& secret, const std::string& name) {
  if (secret.empty() && name.empty()) {
    return error(ErrorCode::InvalidArgument, "expected the member 'session' or 'name'");
  }
  Over over;
  {
    const std::lock_guard lock(mutex_);
    const Handle session = find(secret, name);
    if (session == nullptr) return no_session(name);
    over = {session->told.name, session->lanes->number(), remove(session, true)};
  }
  stop(over);
  return ok_status();
}

Result<SessionInfo> Sessions::set(const SetSessionRequest& request) {
  if (request.session.empty() && request.name.empty()) {
    return error(ErrorCode::InvalidArgument, "expected the member 'session' or 'name'");
  }
  GPUEMU_TRY(check_limits(request));
  const std::lock_guard lock(mutex_);
  const Handle session = find(request.session, request.name);
  if (session == nullptr) return no_session(request.name);
  if (request.lease_ms && !session->is_explicit()) {
    return error(ErrorCode::InvalidArgument,
                 "member 'lease_ms': session {} is that of a process and ends with it",
                 session->told.name);
  }
  session->take_limits(request);
  return session->info();
}

std::vector<SessionInfo> Sessions::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<SessionInfo> listed;
  for (const Handle& one : all()) {
    // One of a process ends with its last connection; it is kept for one that comes at once.
    if (one->is_explicit() || !one->connections.empty()) listed.push_back(one->info());
  }
  return listed;
}

Result<Sessions::Visit> Sessions::visit(const std::string& secret, const ClientPeer& peer) {
  const std::lock_guard lock(mutex_);
  const Handle session = secret.empty() ? own_session(peer) : find(secret, "");
  if (session == nullptr || !is_of(*session, peer)) return no_session("");
  if (connections_.contains(peer.connection)) session->connections.insert(peer.connection);
  ++session->visits;
  session->asked = Clock::now();
  return Visit(*this, session);
}

bool Sessions::is_open(const std::string& secret) const {
  const std::lock_guard lock(mutex_);
  return explicit_.contains(secret);
}

Sessions::Visit::~Visit() {
  if (session_ == nullptr) return;
  const std::lock_guard lock(sessions_->mutex_);
  --session_->visits;
  session_->asked = Clock::now();
}

const std::string& Sessions::Visit::project() const { return session_->told.project; }
uint64_t Sessions::Visit::number() const { return session_->lanes->number(); }
const std::shared_ptr<LaneSession>& Sessions::Visit::lanes() const { return session_->lanes; }
bool Sessions::Visit::is_explicit() const { return session_->is_explicit(); }

bool Sessions::Visit::is_authorized() const {
  return session_->is_explicit() || !sessions_->share_.asks_token();
}

SessionClass Sessions::Visit::session_class() const {
  const std::lock_guard lock(sessions_->mutex_);
  return session_->told.session_class;
}

std::variant<LaneClaim, ErrorReply> Sessions::begin(const Visit& visit, Urgency urgency) {
  const std::lock_guard lock(mutex_);
  Session& session = *visit.session_;
  const std::string& name = session.told.name;
  if (session.is_over) return session_ended_reply(name);
  if (is_stopping_) return ErrorReply{WireErrorCode::Stopped, kDaemonStopped};
  size_t unfinished = 0;
  for (const Handle& one : all()) unfinished += one->lanes->unfinished;
  if (unfinished >= kRequestsUnfinishedMax) {
    return busy_reply(fmt::format("{} of {} requests of all sessions wait; send again in {} ms",
                                  unfinished, kRequestsUnfinishedMax, kBusyRetry.count()));
  }
  const size_t own = session.lanes->unfinished;
  const uint64_t most = session.told.limits.queue_max;
  if (own >= most) {
    const std::string why = why_waiting_ ? why_waiting_() : "";
    return busy_reply(
        fmt::format("{}session {}: {} of {} requests wait (queue_max); send again in {} ms",
                    why.empty() ? "" : why + "; ", name, own, most, kBusyRetry.count()));
  }
  if (auto used_up = session.lanes->time_used_up()) {
    return ErrorReply{WireErrorCode::LimitExceeded, *std::move(used_up)};
  }
  auto use = std::make_shared<LaneUse>(session.lanes, urgency);
  std::erase_if(session.uses, [](const auto& one) { return one.expired(); });
  session.uses.push_back(use);
  return use;
}

/// What is to be stopped of it. REQUIRES: mutex_ is held.
Sessions::Uses Sessions::remove(const Handle& session, bool with_jobs) {
  session->is_over = true;
  explicit_.erase(session->secret);
  std::erase_if(own_, [&](const auto& one) { return one.second == session; });
  Uses uses;
  for (const auto& one : session->uses) {
    LaneClaim use = one.lock();
    if (use != nullptr && (with_jobs || !use->is_job)) uses.push_back(std::move(use));
  }
  return uses;
}

void Sessions::stop(const Over& over) const {
  for (const LaneClaim& use : over.uses) {
    use->stop({LaneStop::Why::SessionEnded, session_ended_reply(over.name).message});
  }
  std::function<void(uint64_t)> told;
  {
    const std::lock_guard lock(mutex_);
    told = told_end_;
  }
  if (told) told(over.number);
}

void Sessions::stop_work() {
  Uses uses;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const Handle& session : all()) {
      for (const auto& one : session->uses) {
        if (LaneClaim use = one.lock()) uses.push_back(std::move(use));
      }
    }
  }
  for (const LaneClaim& use : uses) use->stop({LaneStop::Why::DaemonStops, kDaemonStopped});
}

void Sessions::on_end(std::function<void(uint64_t number)> told) {
  const std::lock_guard lock(mutex_);
  told_end_ = std::move(told);
}

void Sessions::end_overdue(Clock::time_point now) {
  std::vector<Over> over;
  {
    const std::lock_guard lock(mutex_);
    for (const Handle& one : all()) {
      if (!one->is_overdue(now)) continue;
      // A job that was started outside of an explicit session has a lease of its own.
      over.push_back({one->told.name, one->lanes->number(), remove(one, one->is_explicit())});
    }
  }
  for (const Over& one : over) stop(one);
}

}  // namespace gpuemu
