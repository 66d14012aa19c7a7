// Private to this folder: a connection to the port for workers, from its handshake to its end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/protocol/daemon.gen.h"
#include "common/protocol/errors.gen.h"
#include "common/tls/tls_channel.h"
#include "daemon/remote/mailbox.h"
#include "daemon/remote/remote_registry.h"

namespace gpuemu {

inline constexpr std::chrono::milliseconds kHeartbeat{1'000}, kLostAfter{5'000};

/// The services of the listener that connections use.
struct WorkerPort {
  std::shared_ptr<RemoteRegistry> registry;
  std::string token;
  std::function<void()> wake;
  std::function<void(const std::string& line)> log;
  /// Like log(), but at most once a minute, because anybody can cause these lines.
  std::function<void(const std::string& line)> log_seldom;
  /// Takes over a connection whose first message is a client's; returns false if clients are not
  /// served now.
  std::function<bool(std::unique_ptr<TlsChannel>& channel, TlsChannel::Message first,
                     const std::string& peer)>
      take_client;
};

/// A connection that never blocks. Used by one thread.
class WorkerConnection {
 public:
  using Clock = std::chrono::steady_clock;

  WorkerConnection(std::unique_ptr<TlsChannel> channel, std::string peer, const WorkerPort& port);
  ~WorkerConnection();

  int socket() const { return lingering_ ? lingering_.get() : channel_->socket(); }
  short wanted_events() const;
  bool is_registered() const { return member_ != nullptr; }
  bool is_over() const { return stage_ == Stage::Over; }
  /// Proceeds as far as possible without blocking.
  void advance(bool is_ready);
  /// Closes the connection, for example if there are too many.
  void drop();

 private:
  enum class Stage { Handshake, Register, Refuse, Serve, Linger, Over };
  void register_worker();
  /// Returns why the worker is refused; nothing if it is accepted.
  std::optional<ErrorReply> refusal(const WorkerRegisterRequest& request);
  /// Refuses a first message that is not a registration, or a worker; the log gets the reason.
  void refuse_first(std::string why);
  void refuse_told(ErrorReply reply);
  void refuse(ErrorReply reply);
  void serve();
  void lose(const std::string& why);
  void linger();
  std::string name() const;

  std::unique_ptr<TlsChannel> channel_;
  const std::string peer_;  ///< Address of the other side.
  const WorkerPort& port_;
  Stage stage_ = Stage::Handshake;
  Clock::time_point deadline_, next_heartbeat_ = {};
  std::optional<ErrorReply> refused_;
  Clock::time_point refuse_at_ = {};
  std::shared_ptr<RemoteRegistry::Member> member_;  ///< Set once the worker is accepted.
  UniqueFd lingering_;
};

}  // namespace gpuemu
