// Prints the results of a run in a few lines: launches, findings, and the comparison of outputs.
#pragma once

#include "cli/debug/compare.h"
#include "cli/debug/context.h"

namespace gpuemu::cli {

/// Prints one launch: instructions, findings, output of the kernel's printf.
void print_launch(DebugContext& context, size_t index, const LaunchReport& report);
/// Prints each output in one line.
Status print_outputs(DebugContext& context);
/// Returns "y float32 [3, 64]: 2 of 192 elements wrong, worst y[1, 2] = 2.5, expected 3 within
/// 1e-05".
std::string output_line(const DebugContext& context, const ExportedTensor& tensor,
                        const Tensor& values, const Difference& difference);
/// Returns one element with its expected value: "2.5, expected 3 within 1e-05".
std::string element_line(const DebugContext& context, const ExportedTensor& tensor,
                         const Tensor& values, int64_t flat);
/// Returns true for "output" and "inout".
bool is_output(const ExportedTensor& tensor);
/// Returns the architecture that the emulator uses for code of "sm_80": 80; 0 for an invalid name.
int emulated_sm(const std::string& arch);

}  // namespace gpuemu::cli
