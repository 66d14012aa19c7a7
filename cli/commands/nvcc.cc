// Implements `gpuemu nvcc`, which builds CUDA programs that `gpuemu run` can run.
#include "cli/run/nvcc.h"

#include "cli/commands/commands.h"

namespace gpuemu::cli {

void add_nvcc(Command app, Session& session) {
  auto given = std::make_shared<std::vector<std::string>>();
  Command command = app.command("nvcc", "Compile a CUDA program for gpuemu run, with nvcc");
  command.option("arguments", *given, "Arguments of nvcc").type_name("ARGS...");
  command.footer(
      "Calls nvcc with -cudart=shared, -lineinfo and PTX for compute_80 (--arch sm_XX: another\n"
      "one), unless ARGS choose otherwise, and leaves out machine code, which does not run.\n"
      "For CMake: -DCMAKE_CUDA_COMPILER=gpuemu-nvcc\n"
      "Example: gpuemu nvcc -g -o add add.cu && gpuemu run -- ./add");
  command.callback([given, &session] {
    session.exit_code =
        session.fail(become_nvcc(*given, session.environment, session.program_folder));
  });
}

}  // namespace gpuemu::cli
