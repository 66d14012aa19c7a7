// Addresses of TCP connections between a daemon and its remote workers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace gpuemu {

struct HostPort {
  std::string host;  ///< Name or address, without brackets.
  uint16_t port = 0;

  /// Returns "HOST:PORT", with an IPv6 address in brackets.
  std::string text() const;
};

/// Parses "tls+tcp://HOST:PORT". Anything else fails with InvalidArgument: "expected
/// tls+tcp://HOST:PORT; connections without TLS are not made".
Result<HostPort> parse_tls_address(std::string_view text);

}  // namespace gpuemu
