// The files of a new project: gpuemu.toml, reference scripts, CI, .gitignore.
#pragma once

#include <string>
#include <vector>

#include "cli/proposals/propose.h"
#include "cli/scaffold/read_sources.h"

namespace gpuemu::cli {

struct ProjectText {
  std::string name;
  std::vector<std::string> include_dirs = {};  ///< Relative to the project.
};

/// Kernels that were left out are mentioned in comments.
std::string config_text(const ProjectText& project, const std::vector<ProposedKernel>& kernels,
                        const std::vector<LeftOut>& left_out = {});
/// Returns a function with the kernel's parameters that explains what to write; it fails until
/// then.
std::string reference_text(const ProposedKernel& kernel);
std::string reference_path(const ProposedKernel& kernel);  ///< Such as "scripts/ref_NAME.py".

/// Returns an op whose output comes from the client, for projects of a framework without kernels.
std::string client_config_text(const ProjectText& project);
std::string client_reference_text();

/// Returns a working kernel with its reference, for folders without any source.
std::string example_kernel_text();
std::string example_reference_text();
ProposedKernel example_kernel();

std::string gitignore_text();

}  // namespace gpuemu::cli
