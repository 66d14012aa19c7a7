#include "runtime/emulator/jit/machine_code.h"

#include <cstdlib>
#include <string_view>

namespace gpuemu::emulator {

Result<MachineCode> machine_code_wanted(MachineCode otherwise) {
  const char* variable = std::getenv(kMachineCodeVariable);
  const std::string_view wanted = variable == nullptr ? "" : variable;
  if (wanted.empty()) return otherwise;
  if (wanted == "auto") return MachineCode::WhenWorth;
  if (wanted == "always") return MachineCode::Always;
  if (wanted == "off") return MachineCode::Never;
  return error(ErrorCode::Internal, "environment {}: '{}' is none of auto, always, off",
               kMachineCodeVariable, wanted);
}

}  // namespace gpuemu::emulator
