// What the library has for the whole process is never destroyed: when a program ends, threads of
// its own and of the emulator may still be in calls, and would read tables that are gone.
//
// Objects with destructors are registered with the C library by calls of this name, which the
// linker takes from here for all code inside libgpuemu.so and for no other.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }
