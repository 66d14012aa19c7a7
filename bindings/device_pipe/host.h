// Provides a Device to another process: a kernel that crashes its process crashes this one and not
// the client's.
#pragma once

#include "common/base/result.h"

namespace gpuemu::host {

/// Answers the requests of `in` on `out` until `in` ends. Wrong requests get an error as answer and
/// do no harm; an error returned here means that the streams are broken.
Status serve(int in, int out);

}  // namespace gpuemu::host
