// The kernels of projects, compiled, and their cases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/plans/execution_plan.h"

namespace gpuemu::fidelity {

/// One op in one dtype.
struct Subject {
  std::string project;
  std::shared_ptr<const Config> config;
  const OpConfig* op = nullptr;
  const KernelConfig* kernel = nullptr;
  DType dtype = DType::Float32;
  PreparedKernel prepared;

  std::string name() const;  ///< "kernels/softmax/float32"
};

struct ProjectOptions {
  std::string arch = "sm_90";  ///< What sources are compiled for.
  std::string ptx_folder;      ///< Where save_ptx() wrote; "" compiles.
  std::string only;            ///< Ops whose name contains it; "" is all.
};

/// Every op with a kernel of a gpuemu.toml (or of the one in a folder). What does not compile is
/// said in `problems` and left out.
Result<std::vector<Subject>> open_project(const std::string& path, const ProjectOptions& options,
                                          std::vector<std::string>& problems);

/// For machines without a compiler: the text under names that open_project() finds.
Status save_ptx(const Subject& subject, const std::string& folder);

}  // namespace gpuemu::fidelity
