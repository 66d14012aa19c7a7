// Serves the check requests of one client over two descriptors.
#pragma once

#include "common/base/result.h"

namespace gpuemu {

/// Reads requests from `in` and writes replies to `out` until `in` ends. Both are open descriptors,
/// which stay open. Returns an error if reading or writing fails. The requests are described in
/// daemon/judge_service/session.h.
Status serve_checks(int in, int out);

}  // namespace gpuemu
