// Messages over one TLS connection. A message is its length in 4 bytes, followed by its bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/tls/tls_context.h"

struct ssl_st;

namespace gpuemu {

/// Why a connection ended.
enum class TlsEnd {
  Open,          ///< Still open.
  Closed,        ///< The other side or the network closed it.
  NotTls,        ///< Bytes that are not TLS, or no common version or cipher.
  NotSigned,     ///< The authority did not sign the other side's certificate.
  Expired,       ///< detail(): its last day, as in 2026-11-28.
  OtherHost,     ///< detail(): the names that its certificate is for.
  RefusedOurs,   ///< The other side does not accept our certificate.
  WrongMessage,  ///< A message longer than allowed.
};

/// Never blocks. Not thread-safe.
class TlsChannel {
 public:
  using Clock = std::chrono::steady_clock;
  using Message = std::vector<std::byte>;

  /// Creates a channel over a connected socket. A worker passes the host that it wants to reach.
  static Result<std::unique_ptr<TlsChannel>> make(std::shared_ptr<const TlsContext> context,
                                                  UniqueFd socket, const std::string& host = "");
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  int socket() const { return socket_.get(); }
  bool is_open() const { return end_ == TlsEnd::Open; }
  bool is_established() const { return established_; }
  TlsEnd end() const { return end_; }
  const std::string& detail() const { return detail_; }
  /// Returns the events to poll for; without input if `reads` is false.
  short wanted_events(bool reads) const;
  /// Returns when it last received bytes.
  Clock::time_point last_received() const { return last_received_; }

  /// Continues the handshake, and reads and writes as far as the socket allows.
  void advance(bool reads = true);
  void set_message_limit(size_t bytes) { message_bytes_max_ = bytes; }
  std::vector<Message> take_messages() { return std::exchange(arrived_, {}); }
  /// Queues a message, which advance() sends.
  void send(const Message& message);
  size_t queued_bytes() const { return queued_bytes_; }
  /// Sends a close notification and releases the socket.
  UniqueFd take_socket();

 private:
  struct Verifier;
  TlsChannel(std::shared_ptr<const TlsContext> context, UniqueFd socket);
  Status prepare(const std::string& host);
  void handshake();
  void read();
  void write();
  void split();
  /// Returns whether the call must be repeated later; otherwise the connection has ended.
  bool goes_on(int result);

  const std::shared_ptr<const TlsContext> context_;
  UniqueFd socket_;
  ssl_st* ssl_ = nullptr;
  bool established_ = false, wants_write_ = false;
  /// verified_: what is wrong with the other side's certificate.
  TlsEnd end_ = TlsEnd::Open, verified_ = TlsEnd::Open;
  std::string detail_;
  size_t message_bytes_max_ = 0;
  std::vector<std::byte> input_;
  size_t input_taken_ = 0;  ///< Bytes of input_ that are already in messages.
  std::vector<Message> arrived_;
  std::deque<Message> output_;
  size_t output_sent_ = 0;  ///< Bytes of the first item of output_ already sent.
  size_t queued_bytes_ = 0;
  Clock::time_point last_received_ = Clock::now();
};

}  // namespace gpuemu
