// Tabulates every function of the driver API by name and version, for cuGetProcAddress.
//
// The functions are declared without parameters, so that a table can hold their addresses. No
// header that declares them otherwise may be included here.
#include <cstdint>
#include <cstring>

#include "bindings/libcuda/calls/call_names.h"

extern "C" {
#define GPUEMU_DRIVER_CALL(name, version, symbol) int symbol();
#define GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread) \
  int symbol();                                                      \
  int per_thread();
#include "bindings/libcuda/calls/calls.def"
#undef GPUEMU_DRIVER_CALL
#undef GPUEMU_DRIVER_STREAM_CALL
}

namespace gpuemu::libcuda {
namespace {

struct Row {
  const char* name;
  int version;
  int (*symbol)();
  int (*per_thread)();  ///< Null for functions that take no stream.
};

/// Sorted by name, then by version.
const Row kRows[] = {
#define GPUEMU_DRIVER_CALL(name, version, symbol) {#name, version, &symbol, nullptr},
#define GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread) \
  {#name, version, &symbol, &per_thread},
#include "bindings/libcuda/calls/calls.def"
#undef GPUEMU_DRIVER_CALL
#undef GPUEMU_DRIVER_STREAM_CALL
};

const Row* first_row_of(const char* name) {
  const Row* begin = kRows;
  for (size_t left = sizeof kRows / sizeof kRows[0]; left != 0;) {
    const Row* const middle = begin + left / 2;
    if (std::strcmp(middle->name, name) < 0) {
      begin = middle + 1;
      left -= left / 2 + 1;
    } else {
      left /= 2;
    }
  }
  const Row* const end = kRows + sizeof kRows / sizeof kRows[0];
  return begin != end && std::strcmp(begin->name, name) == 0 ? begin : nullptr;
}

}  // namespace

CallFound find_call(const char* name, int version, bool per_thread) {
  CallFound found;
  const Row* row = first_row_of(name);
  if (row == nullptr) return found;
  found.is_known = true;
  const Row* const end = kRows + sizeof kRows / sizeof kRows[0];
  for (; row != end && std::strcmp(row->name, name) == 0 && row->version <= version; ++row) {
    auto* const function = per_thread && row->per_thread != nullptr ? row->per_thread : row->symbol;
    found.function = reinterpret_cast<void*>(function);
  }
  return found;
}

}  // namespace gpuemu::libcuda
