#include "runtime/emulator/decode/supported_forms.h"

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {

std::vector<FunctionSupport> supported_forms(const ptx::Module& module) {
  Program program;
  program.module = module;
  list_functions(program);
  decode(program);
  std::vector<FunctionSupport> all;
  for (const Code& code : program.functions) {
    const auto index = static_cast<size_t>(code.source - program.module.functions.data());
    FunctionSupport& made = all.emplace_back();
    made.function = &module.functions[index];
    made.executed.assign(made.function->body.size(), true);
    for (const Step& step : code.steps) {
      if (step.run == kRunOf<steps::unsupported>) made.executed[step.origin] = false;
    }
  }
  return all;
}

}  // namespace gpuemu::emulator
