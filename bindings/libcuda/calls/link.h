// Links the objects of programs of relocatable device code.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// As RuntimeHooks::add_object says.
int add_object(Linker linker, const void* container, size_t bytes);

}  // namespace gpuemu::libcuda
