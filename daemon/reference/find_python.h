// Finds the Python that computes the references.
#pragma once

#include <string>

namespace gpuemu {

/// `configured` as it is when given; else the first that has NumPy of the project's .venv, PATH
/// and the system's; "python3" when none does, whose failure then names the remedy.
std::string find_python(const std::string& configured, const std::string& project_folder);

}  // namespace gpuemu
