// A client's end of the wire: one NNG REQ socket that asks one question at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

/// One thread at a time. Requests are never sent twice: NNG's resending is off.
class Client {
 public:
  /// Connects now: Unavailable when no daemon answers within `timeout` (the message says how to
  /// start one), InvalidArgument when the path is longer than kSocketPathBytesMax. An address with
  /// "://" is used as it stands, everything else is the path of a Unix domain socket.
  static Result<Client> connect(const std::string& path_or_address,
                                std::chrono::milliseconds timeout);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// Timeout when no reply came in time; Unavailable when the daemon went away meanwhile.
  Result<std::string> request(std::string_view request, std::chrono::milliseconds timeout);

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
