#include "common/base/host_port.h"

#include <charconv>

namespace gpuemu {

std::string HostPort::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

Result<HostPort> parse_tls_address(std::string_view text) {
  constexpr std::string_view kScheme = "tls+tcp://";
  const auto wrong = [] {
    return error(ErrorCode::InvalidArgument,
                 "expected tls+tcp://HOST:PORT; connections without TLS are not made");
  };
  if (!text.starts_with(kScheme)) return wrong();
  text.remove_prefix(kScheme.size());
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  HostPort parsed{std::string(host), 0};
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  const bool is_number = failed == std::errc() && end == port.data() + port.size();
  if (host.empty() || host.find_first_of("/ []") != std::string_view::npos || !is_number) {
    return wrong();
  }
  return parsed;
}

}  // namespace gpuemu
