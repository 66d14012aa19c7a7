// Messages over one TLS connection. A message is its length in 4 bytes, then its bytes.
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
  Open,          ///< It has not.
  Closed,        ///< The other side hung up, or the network did.
  NotTls,        ///< Bytes that are not TLS, or no version or cipher that both sides know.
  NotSigned,     ///< Its certificate is not signed by the authority.
  Expired,       ///< detail(): its last day, as in 2026-11-28.
  OtherHost,     ///< detail(): the names that its certificate is for.
  RefusedOurs,   ///< The other side does not take our certificate.
  WrongMessage,  ///< A message that is longer than it may be.
};

/// Never blocks. For one thread.
class TlsChannel {
 public:
  using Clock = std::chrono::steady_clock;
  using Message = std::vector<std::byte>;

  /// A channel over a connected socket. A worker says which host it wants to reach.
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
  /// What poll() shall wait for; no input where `reads` is false.
  short wanted_events(bool reads) const;
  /// When it last took bytes from the other side.
  Clock::time_point last_received() const { return last_received_; }

  /// Goes on with the handshake, reads and writes as far as the socket lets it.
  void advance(bool reads = true);
  void set_message_limit(size_t bytes) { message_bytes_max_ = bytes; }
  std::vector<Message> take_messages() { return std::exchange(arrived_, {}); }
  /// Queues a message; advance() sends it.
  void send(const Message& message);
  size_t queued_bytes() const { return queued_bytes_; }
  /// Lets go of the socket after telling the other side that nothing follows.
  UniqueFd take_socket();

 private:
  struct Verifier;
  TlsChannel(std::shared_ptr<const TlsContext> context, UniqueFd socket);
  Status prepare(const std::string& host);
  void handshake();
  void read();
  void write();
  void split();
  /// Whether the call shall be made again later; else the connection has ended.
  bool goes_on(int result);

  const std::shared_ptr<const TlsContext> context_;
  UniqueFd socket_;
  ssl_st* ssl_ = nullptr;
  bool established_ = false, wants_write_ = false;
  TlsEnd end_ = TlsEnd::Open, verified_ = TlsEnd::Open;  ///< verified_: what is wrong with theirs.
  std::string detail_;
  size_t message_bytes_max_ = 0;
  std::vector<std::byte> input_;
  size_t input_taken_ = 0;  ///< Bytes at the start of input_ that are messages already.
  std::vector<Message> arrived_;
  std::deque<Message> output_;
  size_t output_sent_ = 0;  ///< Bytes of the first of output_ that are sent.
  size_t queued_bytes_ = 0;
  Clock::time_point last_received_ = Clock::now();
};

}  // namespace gpuemu
