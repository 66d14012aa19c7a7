// What came of a run, in a few lines: launches, findings, outputs against what is expected.
#pragma once

#include "cli/debug/compare.h"
#include "cli/debug/context.h"

namespace gpuemu::cli {

/// One launch: instructions, findings, what the kernel printed.
void print_launch(DebugContext& context, size_t index, const LaunchReport& report);
/// Every output in one line.
Status print_outputs(DebugContext& context);
/// "y float32 [3, 64]: 2 of 192 elements wrong, worst y[1, 2] = 2.5, expected 3 within 1e-05".
std::string output_line(const DebugContext& context, const ExportedTensor& tensor,
                        const Tensor& values, const Difference& difference);
/// One element of a tensor beside what is expected of it: "2.5, expected 3 within 1e-05".
std::string element_line(const DebugContext& context, const ExportedTensor& tensor,
                         const Tensor& values, int64_t flat);
/// "output" and "inout".
bool is_output(const ExportedTensor& tensor);
/// What the emulator is for code of "sm_80": 80; 0 for what is no such name.
int emulated_sm(const std::string& arch);

}  // namespace gpuemu::cli
