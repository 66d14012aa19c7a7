// How gpuemu-device and gpuemu-check talk with the process that started them: over two pipes, one
// request at a time, each answered once. A message is the length of its JSON (u32), the length of
// its data (u64), both little-endian, then JSON, then data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/result.h"

namespace gpuemu::pipes {

using Json = nlohmann::json;

/// JSON holds sources and arguments, data the content of buffers; more is refused.
inline constexpr uint32_t kJsonBytesMax = uint32_t{64} << 20;
inline constexpr uint64_t kDataBytesMax = uint64_t{16} << 30;

struct Message {
  Json json;
  std::vector<std::byte> data;
  std::string wrong = {};  ///< Why `json` is no request; the messages behind it may be.
};

/// Absent at the end of the input. InvalidArgument for lengths that are none; the stream is then of
/// no further use.
Result<std::optional<Message>> read_message(int fd);
Status write_message(int fd, const Message& message);

/// Answers the requests of `in` on `out` until `in` ends. What `answer` refuses is answered with an
/// error and does no harm; an error here means that the streams are broken.
Status serve(int in, int out, const std::function<Result<Message>(const Message&)>& answer);

}  // namespace gpuemu::pipes
