// Requests and replies, names other than enumerators, and conversion of errors to replies.
#include <memory>
#include <utility>

#include "common/protocol/layout_name.h"
#include "common/protocol/names.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "common/protocol/wire_errors.h"

namespace gpuemu {
namespace {

constexpr const char* kLowerLayoutNames[] = {"contiguous", "strided", "transposed"};
static_assert(std::size(kLowerLayoutNames) == static_cast<size_t>(kLastLayoutKind) + 1);

#define GPUEMU_NAME(name, ...) #name,
constexpr const char* kRequestTypes[] = {GPUEMU_REQUESTS(GPUEMU_NAME)};
constexpr const char* kReplyTypes[] = {GPUEMU_REPLIES(GPUEMU_NAME)};
#undef GPUEMU_NAME

struct Traits {
  Pace pace;
  About about;
  bool needs_device;
};
#define GPUEMU_TRAITS(name, reply, pace, capability, about, needs_device) \
  {Pace::pace, About::about, needs_device},
constexpr Traits kTraits[] = {GPUEMU_REQUESTS(GPUEMU_TRAITS)};
#undef GPUEMU_TRAITS

/// Assigns by construction: a variant's own assignment assigns each member of each type, which is
/// twice as much code.
template <typename Message>
Message& replace(Message& to, Message& from) noexcept {
  if (&to == &from) return to;
  std::destroy_at(&to);
  return *std::construct_at(&to, std::move(from));
}

/// Returns the text that `find` finds in the reply, or else in its summary; null if it finds none.
template <typename Find>
std::string* text_of(Reply& reply, const Find& find) {
  return std::visit(
      [&](auto& one) {
        std::string* const own = find(one);
        if constexpr (requires { one.summary; }) return own != nullptr ? own : find(one.summary);
        return own;
      },
      reply);
}

}  // namespace

const char* lower_name_of(LayoutKind layout) { return name_among(kLowerLayoutNames, layout); }

WireErrorCode wire_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return WireErrorCode::InvalidRequest;
    case ErrorCode::NotFound:
      return WireErrorCode::NotFound;
    case ErrorCode::Compile:
      return WireErrorCode::PtxParseError;
    case ErrorCode::Corruption:
      return WireErrorCode::Damaged;
    case ErrorCode::Unsupported:
    case ErrorCode::Unavailable:
    case ErrorCode::Timeout:
    case ErrorCode::ResourceExhausted:
    case ErrorCode::Io:
    case ErrorCode::Launch:
    case ErrorCode::Cancelled:
    case ErrorCode::Internal:
      return WireErrorCode::InternalError;
  }
  GPUEMU_UNREACHABLE();
}

ErrorReply error_reply(const Error& error) { return {wire_code_of(error.code), error.message}; }

std::span<const char* const> request_types() { return kRequestTypes; }
std::span<const char* const> reply_types() { return kReplyTypes; }

Pace pace_of(const Request& request) { return kTraits[request.index()].pace; }
About about_of(const Request& request) { return kTraits[request.index()].about; }
bool needs_device(const Request& request) { return kTraits[request.index()].needs_device; }

std::optional<uint64_t>* lease_of(Request& request) {
  return std::visit(
      [](auto& one) -> std::optional<uint64_t>* {
        if constexpr (requires { one.stream; }) return &one.lease_ms;
        return nullptr;
      },
      request);
}

std::string* incomplete_of(Reply& reply) {
  return text_of(reply, [](auto& one) -> std::string* {
    if constexpr (requires { one.incomplete; }) return &one.incomplete;
    return nullptr;
  });
}
const std::string* incomplete_of(const Reply& reply) {
  return incomplete_of(const_cast<Reply&>(reply));
}

std::string* execution_of(Reply& reply) {
  return text_of(reply, [](auto& one) -> std::string* {
    if constexpr (requires { one.execution; }) return &one.execution;
    return nullptr;
  });
}
const std::string* execution_of(const Reply& reply) {
  return execution_of(const_cast<Reply&>(reply));
}

std::vector<std::string_view> requests_about(About about) {
  std::vector<std::string_view> names;
#define GPUEMU_NAME_IF(name, ...) \
  if (RequestTraits<name##Request>::kAbout == about) names.emplace_back(#name);
  GPUEMU_REQUESTS(GPUEMU_NAME_IF)
#undef GPUEMU_NAME_IF
  return names;
}

Request::Request() noexcept = default;
Request::Request(const Request&) = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(const Request& other) { return *this = Request(other); }
Request& Request::operator=(Request&& other) noexcept { return replace(*this, other); }
Request::~Request() = default;

#define GPUEMU_CONSTRUCTOR(name, ...)     \
  Request::Request(name##Request request) \
      : RequestVariant(std::in_place_type<name##Request>, std::move(request)) {}
GPUEMU_REQUESTS(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR

Reply::Reply() noexcept = default;
Reply::Reply(const Reply&) = default;
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(const Reply& other) { return *this = Reply(other); }
Reply& Reply::operator=(Reply&& other) noexcept { return replace(*this, other); }
Reply::~Reply() = default;

#define GPUEMU_CONSTRUCTOR(name)  \
  Reply::Reply(name##Reply reply) \
      : ReplyVariant(std::in_place_type<name##Reply>, std::move(reply)) {}
GPUEMU_REPLIES(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR

const char* type_of(const Request& request) { return kRequestTypes[request.index()]; }
const char* type_of(const Reply& reply) { return kReplyTypes[reply.index()]; }

}  // namespace gpuemu
