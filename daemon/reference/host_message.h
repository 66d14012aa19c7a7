// One JSON line to host.py and one back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/reference/reference_host.h"

namespace gpuemu {

/// With its newline.
std::string encode_request(const ReferenceRequest& request);

/// An empty optional for the line that says that the host is ready. Corruption for what host.py
/// could not have written, tensors outside `arena_bytes` too; Cancelled when only another
/// interpreter can load what has changed; otherwise the error that the host reports.
Result<std::optional<ReferenceReply>> decode_line(std::string_view line, uint64_t arena_bytes);

}  // namespace gpuemu
