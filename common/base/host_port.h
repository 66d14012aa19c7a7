// Addresses of the TCP connections between a daemon and its remote workers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

struct HostPort {
  std::string host;  ///< Name or address, without brackets.
  uint16_t port = 0;

  /// "HOST:PORT", an IPv6 address in brackets.
  std::string text() const;
};

/// "tls+tcp://HOST:PORT". InvalidArgument for anything else: "expected tls+tcp://HOST:PORT;
/// connections without TLS are not made".
Result<HostPort> parse_tls_address(std::string_view text);

}  // namespace gpuemu
