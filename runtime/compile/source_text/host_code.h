// Removes host code from a CUDA source, so that NVRTC, which compiles only device code, accepts the
// rest: the kernels of a PyTorch extension, or of a program with a main().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::compile {

/// Returns the source with host functions, variables and types blanked; line numbers stay the same.
/// Keeps everything that may be device code: whatever has __global__, __device__, __constant__ or
/// `constexpr`, or a macro that contains them. Returns the source unchanged if its brackets do not
/// match.
std::string without_host_code(const std::string& source);

/// Returns the names in #include lines that are for host code: PyTorch, pybind11, and headers of
/// the C++ library that are useless in device code.
std::vector<std::string> host_headers(const std::string& source);

/// The #include lines that the header of the host `name` has in place of its own text: each brings
/// int32_t and the like, those of PyTorch and of CUDA's libraries float16 and bfloat16 too, so that
/// sources need not include them. "" where none of `sources` uses such types.
std::string stand_in(const std::string& name, const std::vector<std::string>& sources);

}  // namespace gpuemu::compile
