// Keeps the library's static objects from being destroyed: when a program ends, its own threads and
// those of the emulator may still be in calls that use them.
//
// Objects with destructors are registered with the C library by calls of this function. The linker
// takes this definition for all code in libgpuemu.so and for no other.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }
