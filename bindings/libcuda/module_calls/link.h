// Links the objects of programs of relocatable device code.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// See RuntimeHooks::add_object.
int add_object(Linker linker, const void* container, size_t bytes);

}  // namespace gpuemu::libcuda
