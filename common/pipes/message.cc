#include "common/pipes/message.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace gpuemu::pipes {
namespace {

/// Returns the number of bytes read: fewer than requested only at the end of the input.
Result<size_t> read_all(int fd, void* to, size_t bytes) {
  size_t got = 0;
  while (got < bytes) {
    const ssize_t part = ::read(fd, static_cast<char*>(to) + got, bytes - got);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return error(ErrorCode::Internal, "reading a request: {}", std::strerror(errno));
    if (part == 0) break;
    got += static_cast<size_t>(part);
  }
  return got;
}

Status read_exactly(int fd, void* to, size_t bytes) {
  if (GPUEMU_TRY(read_all(fd, to, bytes)) == bytes) return ok_status();
  return error(ErrorCode::InvalidArgument, "the input ends within a message");
}

Status write_all(int fd, const void* from, size_t bytes) {
  size_t put = 0;
  while (put < bytes) {
    const ssize_t part = ::write(fd, static_cast<const char*>(from) + put, bytes - put);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return error(ErrorCode::Internal, "writing a reply: {}", std::strerror(errno));
    put += static_cast<size_t>(part);
  }
  return ok_status();
}

struct Lengths {
  uint32_t json = 0;
  uint64_t data = 0;
};
constexpr size_t kLengthsBytes = sizeof(uint32_t) + sizeof(uint64_t);

}  // namespace

Result<std::optional<Message>> read_message(int fd) {
  std::byte head[kLengthsBytes];
  const size_t got = GPUEMU_TRY(read_all(fd, head, sizeof head));
  if (got == 0) return std::optional<Message>();
  if (got < sizeof head) {
    return error(ErrorCode::InvalidArgument, "the input ends within a message");
  }
  Lengths lengths;
  std::memcpy(&lengths.json, head, sizeof lengths.json);
  std::memcpy(&lengths.data, head + sizeof lengths.json, sizeof lengths.data);
  if (lengths.json > kJsonBytesMax || lengths.data > kDataBytesMax) {
    return error(ErrorCode::InvalidArgument,
                 "a message of {} bytes of JSON and {} of data, the limits are {} and {}",
                 lengths.json, lengths.data, kJsonBytesMax, kDataBytesMax);
  }
  std::string text(lengths.json, '\0');
  GPUEMU_TRY(read_exactly(fd, text.data(), text.size()));
  Message message;
  message.data.resize(lengths.data);
  GPUEMU_TRY(read_exactly(fd, message.data.data(), message.data.size()));
  try {
    message.json = Json::parse(text);
    if (!message.json.is_object()) message.wrong = "its JSON is not an object";
  } catch (const Json::exception& failure) {
    // Remove the tag of "[json.exception.parse_error.101] parse error at line 1, ...".
    const std::string what = failure.what();
    const size_t tag = what.find("] ");
    message.wrong = "invalid JSON: " + (tag == std::string::npos ? what : what.substr(tag + 2));
  }
  return std::optional(std::move(message));
}

Status write_message(int fd, const Message& message) {
  const std::string text = message.json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto json = static_cast<uint32_t>(text.size());
  const uint64_t data = message.data.size();
  std::byte head[kLengthsBytes];
  std::memcpy(head, &json, sizeof json);
  std::memcpy(head + sizeof json, &data, sizeof data);
  GPUEMU_TRY(write_all(fd, head, sizeof head));
  GPUEMU_TRY(write_all(fd, text.data(), text.size()));
  return write_all(fd, message.data.data(), message.data.size());
}

Status serve(int in, int out, const std::function<Result<Message>(const Message&)>& answer) {
  for (;;) {
    const std::optional<Message> request = GPUEMU_TRY(read_message(in));
    if (!request) return ok_status();
    const Result<Message> reply =
        request->wrong.empty()
            ? answer(*request)
            : error(ErrorCode::InvalidArgument, "not a request: {}", request->wrong);
    if (reply) {
      GPUEMU_TRY(write_message(out, *reply));
    } else {
      const Json told = {
          {"error", {{"code", name_of(reply.error().code)}, {"message", reply.error().message}}}};
      GPUEMU_TRY(write_message(out, {told, {}}));
    }
  }
}

}  // namespace gpuemu::pipes
