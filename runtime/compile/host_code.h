// Takes code of the host out of a CUDA source, so that a compiler of device code alone, NVRTC, can
// take what remains: the kernels of a PyTorch extension, or of a program with a main().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::compile {

/// The source with blanks in place of functions, variables and types of the host; every line stays
/// where it is. What may be device code stays: whatever has __global__, __device__, __constant__ or
/// `constexpr`, or a macro that says so. The source itself where its brackets do not match.
std::string without_host_code(const std::string& source);

/// Names in the source's #include lines that are for the host: of PyTorch, pybind11, and of the C++
/// library what device code has no use for.
std::vector<std::string> host_headers(const std::string& source);

}  // namespace gpuemu::compile
