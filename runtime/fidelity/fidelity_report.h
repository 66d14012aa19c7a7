// The fidelity report of `gpuemu run`: which instructions the kernels executed, and how certain it
// is that the emulator's results match a GPU's bit for bit.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu {

/// Classifies the forms that the processes counted or, if they did not count, those in the code of
/// the launched kernels, which is in `folder`. Sorted by kernel and form. Io, Corruption or Compile
/// names code that cannot be read.
Result<std::vector<RunFidelity>> fidelity_of(const RunRecords& records, const std::string& folder);

/// Returns the text report: "fidelity: 214 forms: 160 exact, 51 defined, 3 modelled
/// (mma.m16n8k16.f16 on sm_80 ...)", and what the classes do not cover. Empty without forms.
std::string fidelity_text(const std::vector<RunFidelity>& fidelity);

/// Returns a finding for each modelled form of a kernel.
std::vector<RunFinding> unmeasured(const std::vector<RunFidelity>& fidelity);

}  // namespace gpuemu
