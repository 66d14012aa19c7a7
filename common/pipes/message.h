// The protocol between gpuemu-device or gpuemu-check and the process that started them: two pipes,
// one request at a time, each answered once. A message is the length of its JSON (u32), the length
// of its data (u64), both little-endian, then the JSON, then the data.
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

/// JSON holds sources and arguments, data holds buffers; larger JSON is refused.
inline constexpr uint32_t kJsonBytesMax = uint32_t{64} << 20;
inline constexpr uint64_t kDataBytesMax = uint64_t{16} << 30;

struct Message {
  Json json;
  std::vector<std::byte> data;
  std::string wrong = {};  ///< Why `json` is not a valid request; later messages may be valid.
};

/// Returns nothing at the end of the input. InvalidArgument for invalid lengths, after which the
/// stream cannot be used any more.
Result<std::optional<Message>> read_message(int fd);
Status write_message(int fd, const Message& message);

/// Answers the requests from `in` on `out` until `in` ends. A request that `answer` refuses is
/// answered with an error, and the loop continues. Returns an error only if a stream is broken.
Status serve(int in, int out, const std::function<Result<Message>(const Message&)>& answer);

}  // namespace gpuemu::pipes
