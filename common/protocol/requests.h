// What can be asked of the daemon: the structs of requests.def, and what the table says of each.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/protocol/requests.gen.h"

namespace gpuemu {

using Kwargs = std::map<std::string, std::string>;

/// How long a request may take. Quick ones wait for nothing. Long ones wait for a lane, a compiler,
/// the end of a job or large tensors, for a minute and more. Jobs are long ones that can also run
/// while the client does something else: they have the members `stream` and `lease_ms`.
enum class Pace { Quick, Long, Job };

/// What requests.def says of a request: RequestTraits<R>::Reply is the struct of its reply.
template <typename R>
struct RequestTraits;

#define GPUEMU_REQUEST_TRAITS(name, reply, pace, capability)                      \
  struct reply##Reply;                                                            \
  template <>                                                                     \
  struct RequestTraits<name##Request> {                                           \
    using Reply = reply##Reply;                                                   \
    static constexpr std::string_view kName = #name;                              \
    static constexpr Pace kPace = Pace::pace;                                     \
    /* The word in Pong.capabilities that stands for it; "": version 1 has it. */ \
    static constexpr std::string_view kCapability = capability;                   \
  };
GPUEMU_REQUESTS(GPUEMU_REQUEST_TRAITS)
#undef GPUEMU_REQUEST_TRAITS

/// The wire's `type` of the request: "Ping", "ValidateOp", ...
const char* type_of(const Request& request);

}  // namespace gpuemu
