#include "common/protocol/requests.h"

#include <utility>

namespace gpuemu {

Request::Request() noexcept = default;
Request::Request(const Request&) = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(const Request&) = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;

#define GPUEMU_CONSTRUCTOR(name, ...)     \
  Request::Request(name##Request request) \
      : RequestVariant(std::in_place_type<name##Request>, std::move(request)) {}
GPUEMU_REQUESTS(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR

}  // namespace gpuemu
