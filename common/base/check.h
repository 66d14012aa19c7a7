// Contracts: a violation by the caller is a bug. It is printed and aborts the process, in release
// builds too.
#pragma once

namespace gpuemu {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace gpuemu

#define GPUEMU_CHECK(condition) \
  (static_cast<bool>(condition) ? void() : ::gpuemu::check_failed(#condition, __FILE__, __LINE__))
#define GPUEMU_UNREACHABLE() ::gpuemu::check_failed("unreachable", __FILE__, __LINE__)
