// The client side of the wire: an NNG REQ socket with one request at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

/// Not thread-safe. Requests are never sent twice: NNG's resending is disabled.
class Client {
 public:
  /// Connects immediately. Unavailable if no daemon answers within `timeout` (the message says how
  /// to start one), InvalidArgument if the path is longer than kSocketPathBytesMax. An address with
  /// "://" is used unchanged; anything else is the path of a Unix domain socket.
  static Result<Client> connect(const std::string& path_or_address,
                                std::chrono::milliseconds timeout);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// Timeout if no reply came in time, Unavailable if the daemon ended meanwhile.
  Result<std::string> request(std::string_view request, std::chrono::milliseconds timeout);

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
