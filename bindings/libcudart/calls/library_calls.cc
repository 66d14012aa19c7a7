// Implements cudaLibrary* and cudaKernel*.
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {

GPUEMU_RUNTIME_FORWARD(cudaLibraryLoadData,
                       (Library * library, const void* code, int* options, void** values,
                        unsigned count, int* library_options, void** library_values,
                        unsigned library_count),
                       cuLibraryLoadData,
                       (library, code, options, values, count, library_options, library_values,
                        library_count))
GPUEMU_RUNTIME_FORWARD(cudaLibraryLoadFromFile,
                       (Library * library, const char* path, int* options, void** values,
                        unsigned count, int* library_options, void** library_values,
                        unsigned library_count),
                       cuLibraryLoadFromFile,
                       (library, path, options, values, count, library_options, library_values,
                        library_count))
GPUEMU_RUNTIME_FORWARD(cudaLibraryUnload, (Library library), cuLibraryUnload, (library))
GPUEMU_RUNTIME_FORWARD(cudaLibraryGetKernel, (Kernel * kernel, Library library, const char* name),
                       cuLibraryGetKernel, (kernel, library, name))
GPUEMU_RUNTIME_FORWARD(cudaLibraryGetKernelCount, (unsigned* count, Library library),
                       cuLibraryGetKernelCount, (count, library))
GPUEMU_RUNTIME_FORWARD(cudaLibraryEnumerateKernels,
                       (Kernel * kernels, unsigned count, Library library),
                       cuLibraryEnumerateKernels, (kernels, count, library))
GPUEMU_RUNTIME_FORWARD(cudaLibraryGetGlobal,
                       (void** pointer, size_t* bytes, Library library, const char* name),
                       cuLibraryGetGlobal,
                       (reinterpret_cast<Address*>(pointer), bytes, library, name))
GPUEMU_RUNTIME_FORWARD(cudaLibraryGetManaged,
                       (void** pointer, size_t* bytes, Library library, const char* name),
                       cuLibraryGetManaged,
                       (reinterpret_cast<Address*>(pointer), bytes, library, name))
GPUEMU_RUNTIME_FORWARD(cudaKernelSetAttributeForDevice,
                       (Kernel kernel, int attribute, int value, int device), cuKernelSetAttribute,
                       (attribute, value, kernel, device))

}  // namespace gpuemu::libcudart
