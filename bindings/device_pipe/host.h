// A Device for another process: a kernel that takes its process down takes this one, and not its
// user's.
#pragma once

#include "common/base/result.h"

namespace gpuemu::host {

/// Answers the requests of `in` on `out` until `in` ends. Wrong requests are answered with an error
/// and do no harm; an error here means that the streams are broken.
Status serve(int in, int out);

}  // namespace gpuemu::host
