// Finds what a kernel computes from the indices of its threads and blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

std::string without_space(const std::string& text);
/// Returns whether the text, which has no space, divides something by the threads of a warp.
bool has_warps(const std::string& text);

/// Replaces variables that equal threadIdx.x, such as "tid", by threadIdx.x.
std::string with_plain_threads(std::string body);

/// Replaces variables that equal blockIdx.x, such as "bx", by blockIdx.x where a thread's position
/// is computed: "bx * blockDim.x + ...".
std::string with_plain_blocks(std::string body);

/// A variable of the body that is computed from a grid coordinate, and its bound.
struct Coordinate {
  std::string bound;         ///< In the kernel's names; "" if it is not compared.
  bool uses_thread = false;  ///< threadIdx of the same axis is part of it.
  bool is_warp = false;      ///< It is divided by the size of a warp.
  int64_t each = 1;          ///< Elements that a thread handles at once: 4 for "4 * (... )".
};

/// Returns the variable that the body computes from blockIdx along `axis`; nothing if there is
/// none. `in_sizes` rewrites an expression of the body in terms of the kernel's sizes.
std::optional<Coordinate> coordinate_of(
    const std::string& body, char axis, const Definitions& known,
    const std::function<std::optional<std::string>(const std::string&)>& in_sizes);

/// A block that has a thread for every `each` elements of a row, as "row * size + threadIdx.x"
/// shows.
struct RowThreads {
  std::string size;  ///< In the kernel's names.
  int64_t each = 1;
};

/// Returns the threads of a row whose length is one of `sizes`; nothing if the text shows none.
std::optional<RowThreads> threads_of_row(const std::string& body,
                                         const std::vector<std::string>& sizes);

}  // namespace gpuemu::cli
