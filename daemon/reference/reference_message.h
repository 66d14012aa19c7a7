// The JSON lines to and from reference_process.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/reference/reference_process.h"

namespace gpuemu {

/// Includes the newline.
std::string encode_request(const ReferenceRequest& request);

/// Returns an empty optional for the line that reports that the process is ready. Errors:
/// Corruption for a line that reference_process.py cannot have written, including tensors outside
/// `arena_bytes`; Cancelled if only a new interpreter can load changed modules; otherwise the error
/// that the process reports.
Result<std::optional<ReferenceReply>> decode_line(std::string_view line, uint64_t arena_bytes);

}  // namespace gpuemu
