// Every subcommand's registration. Each sets session.exit_code when it has run.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/session.h"

namespace gpuemu::cli {

void add_daemon(CLI::App& app, Session& session);
void add_test(CLI::App& app, Session& session);
void add_fuzz(CLI::App& app, Session& session);
void add_reproduce(CLI::App& app, Session& session);
void add_explain(CLI::App& app, Session& session);
void add_minimize(CLI::App& app, Session& session);
void add_mutate(CLI::App& app, Session& session);
void add_prove(CLI::App& app, Session& session);
void add_export(CLI::App& app, Session& session);
void add_failures(CLI::App& app, Session& session);
void add_baseline(CLI::App& app, Session& session);
void add_status(CLI::App& app, Session& session);
void add_config(CLI::App& app, Session& session);
void add_devices(CLI::App& app, Session& session);
void add_kernels(CLI::App& app, Session& session);
void add_ci(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_calibrate(CLI::App& app, Session& session);
void add_coverage(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_lint(CLI::App& app, Session& session);
void add_init(CLI::App& app, Session& session);
void add_artifacts(CLI::App& app, Session& session);
void add_diff(CLI::App& app, Session& session);

/// The names there are, and the nearest.
Error no_such_op(const std::string& name, const Config& config);
/// Prints `gpuemu status`.
ExitCode show_status(Session& session);

}  // namespace gpuemu::cli
