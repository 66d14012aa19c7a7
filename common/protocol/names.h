// Private to this folder: the wire's `type` of each alternative of Request and Reply, in order.
#pragma once

#include <span>

namespace gpuemu {

std::span<const char* const> request_types();
std::span<const char* const> reply_types();

}  // namespace gpuemu
