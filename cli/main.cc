// gpuemu: parses the command line and runs one subcommand.
#include <filesystem>
#include <iostream>

#include <signal.h>
#include <unistd.h>

#include "cli/commands/commands.h"

extern char** environ;

namespace gpuemu::cli {
namespace {

// Set by the handler of SIGINT, which may do nothing else.
std::atomic<bool> interrupted{false};  // NOLINT: a signal handler reaches nothing but globals.

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return all;
}

int run(int argc, char** argv) {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  ::sigaction(SIGINT, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  std::error_code ignored;
  Session session(std::cout, std::cerr, interrupted);
  session.environment = environment();
  session.working_folder = std::filesystem::current_path(ignored).string();
  session.program_folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
  session.terminal = ::isatty(STDERR_FILENO) == 1;
  CLI::App app(
      "Finds out whether GPU kernels are right: runs them on a GPU or an emulator against "
      "Python references",
      "gpuemu");
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", std::string("gpuemu v") + GPUEMU_VERSION);
  app.add_flag("-v,--verbose", session.verbose, "Say more");
  app.add_option("--config", session.config_file,
                 "The gpuemu.toml to use (default: found upwards)");
  add_daemon(app, session);
  add_test(app, session);
  add_fuzz(app, session);
  add_reproduce(app, session);
  add_minimize(app, session);
  add_failures(app, session);
  add_baseline(app, session);
  add_status(app, session);
  add_config(app, session);
  add_devices(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : static_cast<int>(ExitCode::Usage);
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "gpuemu: cannot write the output\n";
    return static_cast<int>(ExitCode::Broken);
  }
  return static_cast<int>(session.exit_code);
}

}  // namespace
}  // namespace gpuemu::cli

int main(int argc, char** argv) {
  try {
    return gpuemu::cli::run(argc, argv);
  } catch (const std::exception& surprise) {  // The last net.
    std::cerr << "gpuemu: " << surprise.what() << '\n';
    return static_cast<int>(gpuemu::cli::ExitCode::Broken);
  }
}
