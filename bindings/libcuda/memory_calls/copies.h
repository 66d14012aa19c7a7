// Copies and fills of rows and boxes, for the calls and for the nodes of graphs.
#pragma once

#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {

/// Copies a box. CUDA_ERROR_INVALID_VALUE for a pitch that a row does not fit into and for a box
/// that reaches beyond an array; else the errors of copy().
int copy_3d(const Place& place, const Copy3d& what, Transfer transfer);
/// Returns what copy_3d() would find wrong with the description.
int check_copy_3d(const Copy3d& what);
/// Fills a plane. Errors are those of fill().
int fill_2d(const Place& place, const FillNode& what, Transfer transfer);

}  // namespace gpuemu::libcuda
