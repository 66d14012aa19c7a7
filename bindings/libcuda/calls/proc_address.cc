// Tabulates every function of the driver API by name and version, for cuGetProcAddress.
//
// The functions are declared without parameters, so that a table can hold their addresses. No
// header that declares them otherwise may be included here.
#include <cstdint>
#include <cstring>

#include <dlfcn.h>

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

struct Entry {
  const char* symbol;
  int (*function)();
};

struct Row {
  const char* name;
  int version;
  Entry legacy;
  Entry per_thread;  ///< Null for functions that take no stream.
};

/// Sorted by name, then by version.
const Row kRows[] = {
#define GPUEMU_DRIVER_CALL(name, version, symbol) {#name, version, {#symbol, &symbol}, {}},
#define GPUEMU_DRIVER_STREAM_CALL(name, version, symbol, per_thread) \
  {#name, version, {#symbol, &symbol}, {#per_thread, &per_thread}},
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

/// Returns the address that dlsym() finds in our libcuda.so.1: programs compare the two.
void* address_of(const Entry& entry) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const exported = library == nullptr ? nullptr : dlsym(library, entry.symbol);
  return exported != nullptr ? exported : reinterpret_cast<void*>(entry.function);
}

}  // namespace

CallFound find_call(const char* name, int version, bool per_thread) {
  CallFound found;
  const Row* row = first_row_of(name);
  if (row == nullptr) return found;
  found.is_known = true;
  const Row* const end = kRows + sizeof kRows / sizeof kRows[0];
  const Entry* newest = nullptr;
  for (; row != end && std::strcmp(row->name, name) == 0 && row->version <= version; ++row) {
    newest = per_thread && row->per_thread.function != nullptr ? &row->per_thread : &row->legacy;
  }
  if (newest != nullptr) found.function = address_of(*newest);
  return found;
}

}  // namespace gpuemu::libcuda
