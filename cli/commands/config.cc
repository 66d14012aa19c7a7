// `gpuemu config show [--origin]` and `gpuemu config check [--format json]`.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/report/config_json.h"

namespace gpuemu::cli {
namespace {

ExitCode show(bool origin, Session& session) {
  const auto config = session.config();
  if (!config) return session.exit_code = ExitCode::Usage;
  for (const Config::Setting& setting : config->settings) {
    session.out << setting.key << " = " << setting.value;
    if (origin) session.out << "    # " << setting.origin;
    session.out << '\n';
  }
  return session.exit_code = ExitCode::Ok;
}

ExitCode check(const std::string& format, Session& session) {
  ConfigSources sources;
  sources.working_folder = session.working_folder;
  sources.environment = session.environment;
  if (!session.config_file.empty()) sources.file = session.config_file;
  const ConfigResult loaded = load_config(sources);
  if (format == "json") {
    session.out << problems_json(loaded.problems) << '\n';
  } else if (loaded.config) {
    session.out << (loaded.config->file.empty() ? "no gpuemu.toml found" : loaded.config->file)
                << ": nothing wrong\n";
  } else {
    session.err << loaded.text();
  }
  return session.exit_code = loaded.config ? ExitCode::Ok : ExitCode::Usage;
}

}  // namespace

void add_config(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("config", "Show or check the configuration");
  command->require_subcommand(1);
  auto origin = std::make_shared<bool>(false);
  CLI::App* showing = command->add_subcommand("show", "Print every effective value");
  showing->add_flag("--origin", *origin, "With the file and line it came from");
  showing->callback([origin, &session] { show(*origin, session); });
  auto format = std::make_shared<std::string>("text");
  CLI::App* checking = command->add_subcommand("check", "Report every error of gpuemu.toml");
  add_format(*checking, *format);
  checking->callback([format, &session] { check(*format, session); });
}

}  // namespace gpuemu::cli
