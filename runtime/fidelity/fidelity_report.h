// The fidelity report of `gpuemu run`: which instructions the kernels executed, and how far the
// bits that the emulator gave are known to be those of a GPU.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu {

/// Classes of what the processes counted; where they did not count, of the code of the kernels that
/// they launched, which lies in `folder`. Ordered by kernel and form. Io, Corruption or Compile
/// names code that cannot be read.
Result<std::vector<RunFidelity>> fidelity_of(const RunRecords& records, const std::string& folder);

/// Returns the lines of the text report: "fidelity: 214 forms: 160 exact, 51 defined, 3 modelled
/// (mma.m16n8k16.f16 on sm_80 ...)" and what the classes say nothing about. Empty without forms.
std::string fidelity_text(const std::vector<RunFidelity>& fidelity);

/// Returns a finding for each modelled form of a kernel.
std::vector<RunFinding> unmeasured(const std::vector<RunFidelity>& fidelity);

}  // namespace gpuemu
