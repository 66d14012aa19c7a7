// The frames to and from reference_process.py; reference_message.py is their other side.
//
//   frame := magic:4  bytes behind this number:u32  form_bytes:u32  form  number:i64 ...
//
// A form is a JSON object that says what stays the same from case to case, and the numbers are what
// differs. Python keeps the forms of requests and answers, the daemon that of the latest answer, so
// that of most frames only the numbers are read.
//
// request  form:    what ReferenceRequest has besides numbers; `integers` are names, those of them
//                   `as_kwargs` are kwargs too; `inputs` and `judged` are lists of [name, dtype,
//                   rank]
//          numbers: arena, result_offset, each integer, offset and sizes of each input and judged
// answer   form:    "ok": true with `outputs` and `scales` like `inputs`, `predicates`,
//                   `function_form` and perhaps `reads`; or "ok": false with `code` and `message`
//          numbers: offset and sizes of each output and scale
// others   form:    "ready", "stale" or "fatal", without numbers
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/reference/reference_process.h"

namespace gpuemu {

/// Returns the frame.
std::vector<std::byte> encode_request(const ReferenceRequest& request);

/// Returns the bytes of the first frame of `received`; nothing while that is not known. Corruption
/// if no frame begins like this.
Result<std::optional<size_t>> frame_bytes(std::span<const std::byte> received);

/// Reads the frames of one process.
class ReplyReader {
 public:
  /// Returns an empty optional for the frame that reports that the process is ready. Errors:
  /// Corruption for a frame that reference_process.py cannot have written, including tensors
  /// outside `arena_bytes`; Cancelled if only a new interpreter can load changed modules; otherwise
  /// the error that the process reports.
  Result<std::optional<ReferenceReply>> read(std::span<const std::byte> frame,
                                             uint64_t arena_bytes);

 private:
  std::string form_;     ///< The latest answer's; "" if it is not worth keeping.
  ReferenceReply kept_;  ///< What the form says; offsets and sizes are not set.
};

}  // namespace gpuemu
