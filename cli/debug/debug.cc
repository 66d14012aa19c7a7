#include "cli/debug/debug.h"

#include "cli/debug/complete.h"
#include "cli/debug/interrupt.h"
#include "cli/debug/loop.h"
#include "cli/debug/stopped.h"

namespace gpuemu::cli {

Status run_debug(DebugEnvironment& environment, const CommandSources& sources) {
  const InterruptGuard guard;
  DebugContext context(environment);
  std::vector<std::string> given = sources.first;
  given.insert(given.end(), sources.commands.begin(), sources.commands.end());
  std::unique_ptr<LineSource> lines = std::make_unique<GivenLines>(std::move(given));
  if (sources.prompt) {
    const auto offer = [&context](const std::string& line) { return completions(context, line); };
    lines = std::make_unique<ChainedLines>(std::move(lines),
                                           terminal_lines("gpuemu> ", sources.history_file, offer));
  } else if (sources.lines != nullptr) {
    lines = std::make_unique<ChainedLines>(std::move(lines),
                                           std::make_unique<StreamLines>(*sources.lines));
  }
  CommandLoop loop(context, *lines);
  context.loop = &loop;
  context.stepping = std::make_unique<Stepping>([&](const std::vector<std::string>& why) {
    print_stop(context, why);
    loop.run([&] { return context.stepping->goes_on(); });
  });
  loop.run([] { return false; });
  return loop.failure() ? Status(*loop.failure()) : ok_status();
}

}  // namespace gpuemu::cli
