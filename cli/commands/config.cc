// `gpuemu config show [--origin]`, `gpuemu config check [--format json]`, `gpuemu config schema`.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/config_json.h"
#include "cli/report/config_schema.h"

namespace gpuemu::cli {
namespace {

ExitCode show(bool origin, Session& session) {
  const auto config = session.config();
  if (!config) return session.exit_code;
  for (const Config::Setting& setting : config->settings) {
    session.out << setting.key << " = " << setting.value;
    if (origin) session.out << "    # " << setting.origin;
    session.out << '\n';
  }
  return session.exit_code = ExitCode::Ok;
}

ExitCode check(Session& session) {
  ConfigSources sources;
  sources.working_folder = session.working_folder;
  sources.environment = session.environment;
  if (!session.config_file.empty()) sources.file = session.config_file;
  const ConfigResult loaded = load_config(sources);
  if (session.json()) {
    session.out << problems_json(loaded) << '\n';
  } else if (loaded.config) {
    for (const ConfigProblem& warning : loaded.config->warnings) {
      session.err << "warning: " << warning.text() << '\n';
    }
    if (loaded.config->file.empty()) {
      session.out << "no gpuemu.toml in " << session.working_folder
                  << " or its parents; the defaults hold, and no ops are configured\n";
    } else {
      session.out << loaded.config->file << ": nothing wrong\n";
    }
  } else {
    session.err << loaded.text();
  }
  return session.exit_code = loaded.config ? ExitCode::Ok : ExitCode::Usage;
}

}  // namespace

void add_config(Command app, Session& session) {
  Command command = app.command("config", "Show or check the configuration");
  command.require_command();
  auto origin = std::make_shared<bool>(false);
  Command showing = command.command("show", "Print every effective setting");
  showing.flag("--origin", *origin,
               "With the place each comes from: file and line, variable, default");
  showing.callback([origin, &session] { show(*origin, session); });
  Command schema = command.command("schema", "Print the JSON Schema of gpuemu.toml, for editors");
  schema.callback([&session] { session.out << config_schema() << '\n'; });
  Command checking = command.command("check", "Report every error of gpuemu.toml");
  add_format(checking, session);
  checking.callback([&session] { check(session); });
}

}  // namespace gpuemu::cli
