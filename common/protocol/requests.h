// Any request to the daemon, and the traits of each. Code that uses a few of them includes the
// headers of their tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/protocol/any_request.gen.h"

namespace gpuemu {

using Kwargs = std::map<std::string, std::string>;

/// How long a request may take. Quick requests wait for nothing. Long ones wait for a slot, a
/// compiler, the end of a job or large tensors, for a minute or more. Jobs are long requests that
/// can also run in the background: they have the members `stream` and `lease_ms`.
enum class Pace { Quick, Long, Job };

/// What a request is about: one project; stored records, of all projects with "*"; or the daemon
/// itself, independent of its projects.
enum class About { Project, Records, Daemon };

/// The traits of a request from requests.def: RequestTraits<R>::Reply is the struct of its reply.
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

/// Any request. Copying, moving or destroying a variant of so many types takes seconds to compile,
/// so these are compiled once, in records.cc.
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

/// Returns whether the request is one of `Rs`. A visitor for each request takes much longer to
/// compile.
template <typename... Rs>
bool is_one_of(const Request& request) {
  return (std::holds_alternative<Rs>(request) || ...);
}

/// Returns where a job's lease is stored; null if the request starts no job.
std::optional<uint64_t>* lease_of(Request& request);

/// Returns the wire's `type` of the request: "Ping", "ValidateOp", ...
const char* type_of(const Request& request);

/// Returns the trait of the request's type.
Pace pace_of(const Request& request);
About about_of(const Request& request);
bool needs_device(const Request& request);

/// Returns the types of all requests about it, in the order of the table.
std::vector<std::string_view> requests_about(About about);

}  // namespace gpuemu
