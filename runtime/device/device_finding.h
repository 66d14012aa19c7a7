// What a device saw go wrong inside a kernel, and what each kind of it means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/device/launch_shape.h"

namespace gpuemu {

enum class DeviceFindingKind : uint8_t {
#define GPUEMU_DEVICE_FINDING(kind, name, effect, finding) kind,
#define GPUEMU_DEVICE_NOTE(kind, name) kind,
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
};

enum class DeviceFindingEffect : uint8_t {
  StopsLaunch,  ///< The launch ends where it happens.
  Faults,       ///< A GPU stops here; the emulator leaves the access out and continues.
  Continues,    ///< The launch runs to its end and its results stand.
  Explains,     ///< A note: no fault by itself.
};

/// "out_of_bounds": the spelling in messages and between processes.
std::string_view name_of(DeviceFindingKind kind);
DeviceFindingEffect effect_of(DeviceFindingKind kind);

/// The emulator gives all members, hardware few.
struct DeviceFinding {
  DeviceFindingKind kind = DeviceFindingKind::IllegalAddress;
  std::string message;  ///< One sentence with address, tensor, thread and source line.
  std::string entry;
  std::string file;  ///< From .loc, "" without -lineinfo: the innermost line outside the toolkit.
  uint32_t line = 0;
  std::string other_file;  ///< Source of the second instruction, where a finding concerns a pair.
  uint32_t other_line = 0;
  uint32_t other_ptx_line = 0;
  uint32_t ptx_line = 0;
  std::string instruction;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::string tensor;       ///< Name of the allocation concerned, "" when none.
  int64_t byte_offset = 0;  ///< Within that allocation; negative or past its end possible.
  uint64_t count = 1;       ///< Occurrences folded into this one (same pair of instructions).
};

/// A store of a value that was computed from memory that nothing wrote.
struct UndefinedStore {
  uint32_t number = 0;    ///< Unique on the device, from 1.
  DeviceFinding finding;  ///< The load of that memory, and the store.
};
/// Bytes that hold such a value.
struct UndefinedBytes {
  uint64_t address = 0, bytes = 0;
  uint32_t number = 0;  ///< UndefinedStore::number.
};

/// Is a race of threads that the compiler has do the same work, which changes no result.
bool is_redundancy(const DeviceFinding& finding);
/// Explains a finding or a value and is no fault by itself.
bool is_note(const DeviceFinding& finding);
/// Stops the launch on a GPU: no later launch may build on its results. After a note, a race, an
/// uninitialised read, a division by zero or a second write they stand.
bool is_fault(const DeviceFinding& finding);

}  // namespace gpuemu
