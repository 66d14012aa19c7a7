#include "cli/run/python_package.h"

#include <filesystem>

namespace gpuemu::cli {

namespace fs = std::filesystem;

std::string python_package_root(const std::string& program_folder) {
  for (const char* from : {"../share/gpuemu/python", "../../..", "../../../python"}) {
    const fs::path root = (fs::path(program_folder) / from).lexically_normal();
    std::error_code ignored;
    if (fs::is_regular_file(root / "gpuemu/__init__.py", ignored)) return root.string();
  }
  return "";
}

void add_python_start(std::map<std::string, std::string>& environment, const std::string& root,
                      const std::string& packages) {
  environment[kPreparedVariable] =
      packages;  // gpuemu-run.pth of an installed package also reads it.
  const fs::path folder = fs::path(root) / "gpuemu/drop_in/start";
  std::error_code ignored;
  if (root.empty() || packages.empty() || !fs::is_directory(folder, ignored)) return;
  std::string& path = environment["PYTHONPATH"];
  path = path.empty() ? folder.string() : folder.string() + ":" + path;
}

}  // namespace gpuemu::cli
