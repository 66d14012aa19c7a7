// Copies and fills rows and boxes, for calls and for nodes of graphs.
#pragma once

#include "bindings/libcuda/memory/transfer.h"

namespace gpuemu::libcuda {

/// Copies a box. Returns CUDA_ERROR_INVALID_VALUE for a pitch smaller than a row and for a box that
/// exceeds an array; otherwise the errors of copy().
int copy_3d(const Place& place, const Copy3d& what, Transfer transfer);
/// Returns the error of copy_3d() for the description.
int check_copy_3d(const Copy3d& what);
/// Fills a plane. Errors are those of fill().
int fill_2d(const Place& place, const FillNode& what, Transfer transfer);

}  // namespace gpuemu::libcuda
