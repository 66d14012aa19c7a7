// Answers the requests of one process until it has no more.
#pragma once

#include "common/base/result.h"

namespace gpuemu {

/// Reads requests of `in` and writes replies to `out`, both open descriptors, until `in` ends; an
/// error means that the streams are broken. daemon/judge_service/session.h has the requests.
Status serve_checks(int in, int out);

}  // namespace gpuemu
