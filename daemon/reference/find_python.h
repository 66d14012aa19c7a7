// Finds the Python interpreter for references.
#pragma once

#include <string>

namespace gpuemu {

/// Returns `configured` unchanged if it is given; else the first of the project's .venv, PATH and
/// the system's interpreter that has NumPy; else "python3", whose failure names the remedy.
std::string find_python(const std::string& configured, const std::string& project_folder);

}  // namespace gpuemu
