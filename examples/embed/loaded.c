/* gpuemu where it is installed, and a program that runs without it too: the library is loaded when
 * the program runs, by its name or from the path in GPUEMU_LIBRARY.
 *
 *   cc loaded.c $(pkg-config --cflags gpuemu) -ldl -o loaded
 *   loaded [BACKEND]          prints the device, or what is missing
 */
#include <dlfcn.h>
#include <gpuemu/op_call.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets a pointer to data become one to a function, ISO C does not. */
static int load(void* library, const char* name, void* function) {
  void* found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "loaded: %s\n", dlerror());
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

int main(int argc, char** argv) {
  const char* path = getenv("GPUEMU_LIBRARY");
  void* library = dlopen(path != NULL ? path : "libgpuemu.so.1", RTLD_NOW | RTLD_LOCAL);
  gpuemu_code (*create)(const gpuemu_options*, gpuemu_context**) = NULL;
  gpuemu_code (*device)(gpuemu_context*, gpuemu_device_info*) = NULL;
  void (*destroy)(gpuemu_context*) = NULL;
  const char* (*last_error)(void) = NULL;
  gpuemu_options options;
  gpuemu_device_info info;
  gpuemu_context* context = NULL;
  if (library == NULL) {
    printf("without gpuemu: %s\n", dlerror());
    return 0;
  }
  if (!load(library, "gpuemu_context_create", &create) ||
      !load(library, "gpuemu_context_device", &device) ||
      !load(library, "gpuemu_context_destroy", &destroy) ||
      !load(library, "gpuemu_last_error", &last_error)) {
    return 1;
  }
  memset(&options, 0, sizeof options);
  options.struct_bytes = sizeof options;
  options.backend = argc > 1 ? argv[1] : NULL;
  memset(&info, 0, sizeof info);
  info.struct_bytes = sizeof info;
  if (create(&options, &context) != GPUEMU_OK || device(context, &info) != GPUEMU_OK) {
    fprintf(stderr, "loaded: %s\n", last_error());
    return 1;
  }
  printf("%s: sm_%d, %u multiprocessors\n", info.backend, (int)info.sm, info.multiprocessors);
  destroy(context);
  dlclose(library);
  return 0;
}
