// gpuemu-nvcc: calls nvcc in the same way as `gpuemu nvcc`.
#include <cstdio>
#include <filesystem>

#include "cli/run/nvcc.h"
#include "common/base/environment.h"

int GPUEMU_MAIN(int argc, char** argv) {
  constexpr int kCouldNotRun = 3;
  std::error_code ignored;
  const std::string folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
  const gpuemu::Error failed = gpuemu::cli::become_nvcc({argv + (argc > 0 ? 1 : 0), argv + argc},
                                                        gpuemu::environment_of_process(), folder);
  std::fprintf(stderr, "gpuemu-nvcc: %s\n", failed.message.c_str());
  return kCouldNotRun;
}
