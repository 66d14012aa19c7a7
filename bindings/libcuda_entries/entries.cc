// Defines the functions that libcuda.so.1 exports. Each jumps to the function with its name in
// libgpuemu.so.1; arguments, stack and return address stay unchanged.
#ifndef __x86_64__
#error "libcuda.so.1 exists for x86-64 only: write the jump of this processor here"
#endif

// Register r11 carries neither an argument nor a result of any call.
#define GPUEMU_DRIVER_ENTRY(name, symbol)             \
  ".globl " #name                                     \
  "\n"                                                \
  ".type " #name ", @function\n" #name                \
  ":\n"                                               \
  "  endbr64\n"                                       \
  "  movq gpuemu_driver_calls@GOTPCREL(%rip), %r11\n" \
  "  jmp *gpuemu_entry(%r11)\n"                       \
  ".size " #name ", . - " #name                       \
  "\n"                                                \
  ".set gpuemu_entry, gpuemu_entry + 8\n"
// One string keeps the parts in order.
#pragma GCC diagnostic ignored "-Woverlength-strings"
// clang-format off
asm(
    ".text\n"
    ".set gpuemu_entry, 0\n"
#include "bindings/libcuda/calls/all_calls.def"
);
// clang-format on
#undef GPUEMU_DRIVER_ENTRY
