// A fault that a device saw inside a kernel, and what each kind of fault means for the launch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/device/launch_shape.h"

namespace gpuemu {

enum class DeviceFindingKind : uint8_t {
#define GPUEMU_DEVICE_FINDING(kind, name, effect, finding) kind,
#define GPUEMU_DEVICE_NOTE(kind, name) kind,
#define GPUEMU_DEVICE_UNCHECKED(kind, name, text) kind,
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
#undef GPUEMU_DEVICE_UNCHECKED
};

enum class DeviceFindingEffect : uint8_t {
  StopsLaunch,  ///< The launch stops here.
  Faults,       ///< A GPU stops here; the emulator skips the access and continues.
  Continues,    ///< The launch runs to its end and its results are valid.
  Explains,     ///< A note that explains another finding; not a fault itself.
  Limits,       ///< A note that says what was not checked; not a fault itself.
};

/// Returns for example "out_of_bounds": the spelling used in messages and between processes.
std::string_view name_of(DeviceFindingKind kind);
DeviceFindingEffect effect_of(DeviceFindingKind kind);

/// One fault. The emulator fills in all members, hardware only a few.
struct DeviceFinding {
  DeviceFindingKind kind = DeviceFindingKind::IllegalAddress;
  std::string message;  ///< One sentence with address, tensor, thread and source line.
  std::string entry;
  std::string file;  ///< From .loc; "" without -lineinfo. The innermost line outside the CUDA
                     ///< toolkit.
  uint32_t line = 0;
  std::string other_file;  ///< Source of the second instruction, for findings about a pair of them.
  uint32_t other_line = 0;
  uint32_t other_ptx_line = 0;
  uint32_t ptx_line = 0;
  std::string instruction;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::string tensor;       ///< Name of the allocation; "" if there is none.
  int64_t byte_offset = 0;  ///< Offset in that allocation; can be negative or past its end.
  uint64_t count = 1;       ///< Occurrences merged into this finding (same pair of instructions).
  uint64_t call = 0;        ///< StreamLaunch::tag of the launch; 0: none.
};

/// A store of a value that was computed from uninitialised memory.
struct UndefinedStore {
  uint32_t number = 0;    ///< Unique on the device, starting at 1.
  DeviceFinding finding;  ///< Names the load of the uninitialised memory and the store.
};
/// A range of bytes that holds such a value.
struct UndefinedBytes {
  uint64_t address = 0, bytes = 0;
  uint32_t number = 0;  ///< UndefinedStore::number.
};

/// Returns whether the finding is a race between threads that the compiler made repeat the same
/// work, which changes no result.
bool is_redundancy(const DeviceFinding& finding);
/// Returns whether the finding says what the launch did not check.
bool is_unchecked(const DeviceFinding& finding);
/// Returns whether the finding is no fault: it explains another finding or a value, or says what
/// was not checked.
bool is_note(const DeviceFinding& finding);
/// Returns the note that a launch of `entry` did not check `subject` because of `limit`. `kind` is
/// one of the kinds of GPUEMU_DEVICE_UNCHECKED.
DeviceFinding unchecked(DeviceFindingKind kind, const std::string& entry,
                        const std::string& subject, uint64_t limit);
/// Returns whether the fault would stop the launch on a GPU, so that later launches must not use
/// its results. Notes, races, uninitialised reads, divisions by zero and second writes do not.
bool is_fault(const DeviceFinding& finding);

}  // namespace gpuemu
