// What a kernel's text makes of the numbers of its threads and blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

std::string without_space(const std::string& text);
/// Whether the text, which has no space, divides something by the threads of a warp.
bool has_warps(const std::string& text);

/// With threadIdx.x in place of a variable that is it: "tid".
std::string with_plain_threads(std::string body);

/// A variable of the body that a coordinate of the grid makes, and what it is compared with.
struct Coordinate {
  std::string bound;         ///< In the kernel's names; "" where it is compared with nothing.
  bool uses_thread = false;  ///< threadIdx of the same axis is part of it.
  bool is_warp = false;      ///< It is divided by the size of a warp.
  int64_t each = 1;          ///< Elements that a thread takes at once: 4 of "4 * (... )".
};

/// What the body makes of blockIdx along `axis`; nothing where it does not use it. `in_sizes`
/// writes what the body computes in the sizes of the kernel.
std::optional<Coordinate> coordinate_of(
    const std::string& body, char axis, const Definitions& known,
    const std::function<std::optional<std::string>(const std::string&)>& in_sizes);

}  // namespace gpuemu::cli
