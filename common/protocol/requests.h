// What can be asked of the daemon: the structs of requests.def, and what the table says of each.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/requests.gen.h"

namespace gpuemu {

using Kwargs = std::map<std::string, std::string>;

/// How long a request may take. Quick ones wait for nothing. Long ones wait for a lane, a compiler,
/// the end of a job or large tensors, for a minute and more. Jobs are long ones that can also run
/// while the client does something else: they have the members `stream` and `lease_ms`.
enum class Pace { Quick, Long, Job };

/// What a request is about: one project; stored records, which "*" lists of all projects; or the
/// daemon itself, whatever the state of its projects.
enum class About { Project, Records, Daemon };

/// What requests.def says of a request: RequestTraits<R>::Reply is the struct of its reply.
template <typename R>
struct RequestTraits;

#define GPUEMU_REQUEST_TRAITS(name, reply, pace, capability, about, needs_device) \
  struct reply##Reply;                                                            \
  template <>                                                                     \
  struct RequestTraits<name##Request> {                                           \
    using Reply = reply##Reply;                                                   \
    static constexpr std::string_view kName = #name;                              \
    static constexpr Pace kPace = Pace::pace;                                     \
    /* The word in Pong.capabilities that stands for it; "": version 1 has it. */ \
    static constexpr std::string_view kCapability = capability;                   \
    static constexpr About kAbout = About::about;                                 \
    /* Runs cases, or compiles for the device that the settings name. */          \
    static constexpr bool kNeedsDevice = needs_device;                            \
  };
GPUEMU_REQUESTS(GPUEMU_REQUEST_TRAITS)
#undef GPUEMU_REQUEST_TRAITS

/// Any request. To copy, move or destroy a variant of so many types costs a compiler seconds, so it
/// is compiled once, in records.cc, and not in every source that has a request at hand.
struct Request : RequestVariant {
  using Alternatives = RequestVariant;

  Request() noexcept;
  Request(const Request&);
  Request(Request&&) noexcept;
  Request& operator=(const Request&);
  Request& operator=(Request&&) noexcept;
  ~Request();
#define GPUEMU_CONSTRUCTOR(name, ...) Request(name##Request request);
  GPUEMU_REQUESTS(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR
};

/// The wire's `type` of the request: "Ping", "ValidateOp", ...
const char* type_of(const Request& request);

/// The trait of the request's type.
Pace pace_of(const Request& request);
About about_of(const Request& request);
bool needs_device(const Request& request);

/// The types of all requests about it, in the order of the table.
std::vector<std::string_view> requests_about(About about);

}  // namespace gpuemu
