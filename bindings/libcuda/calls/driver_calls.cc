// Lists the functions of libcuda.so.1, which jumps to them through this table: they are in
// libgpuemu.so.1, so that an installation has the emulator only once.
//
// The functions are declared without parameters, so that a table can hold their addresses. No
// header that declares them otherwise may be included here.
extern "C" {
#define GPUEMU_DRIVER_ENTRY(name, symbol) int symbol();
#include "bindings/libcuda/calls/all_calls.def"
#undef GPUEMU_DRIVER_ENTRY

using DriverCall = int (*)();

/// In the order of all_calls.def.
// NOLINTNEXTLINE(readability-identifier-naming): a name of C that another library looks up.
extern __attribute__((visibility("default"))) const DriverCall gpuemu_driver_calls[];
const DriverCall gpuemu_driver_calls[] = {
#define GPUEMU_DRIVER_ENTRY(name, symbol) &symbol,
#include "bindings/libcuda/calls/all_calls.def"
#undef GPUEMU_DRIVER_ENTRY
};
}
