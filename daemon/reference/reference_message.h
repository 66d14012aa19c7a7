// One JSON line to reference_process.py and one back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/reference/reference_process.h"

namespace gpuemu {

/// With its newline.
std::string encode_request(const ReferenceRequest& request);

/// An empty optional for the line that says that the process is ready. Corruption for what
/// reference_process.py could not have written, tensors outside `arena_bytes` too; Cancelled when
/// only another interpreter can load what has changed; otherwise the error that the process
/// reports.
Result<std::optional<ReferenceReply>> decode_line(std::string_view line, uint64_t arena_bytes);

}  // namespace gpuemu
