// Every subcommand's registration. Each sets session.exit_code when it has run.
#pragma once

#include "cli/commands/session.h"
#include "cli/parse/command.h"

namespace gpuemu::cli {

void add_daemon(Command app, Session& session);
void add_test(Command app, Session& session);
void add_fuzz(Command app, Session& session);
void add_reproduce(Command app, Session& session);
void add_explain(Command app, Session& session);
void add_minimize(Command app, Session& session);
void add_mutate(Command app, Session& session);
void add_prove(Command app, Session& session);
void add_export(Command app, Session& session);
void add_failures(Command app, Session& session);
void add_baseline(Command app, Session& session);
void add_status(Command app, Session& session);
void add_config(Command app, Session& session);
void add_devices(Command app, Session& session);
void add_ops(Command app, Session& session);
void add_kernels(Command app, Session& session);
void add_ci(Command app, Session& session);
void add_report(Command app, Session& session);
void add_calibrate(Command app, Session& session);
void add_coverage(Command app, Session& session);
void add_completion(Command app, Session& session);
void add_lint(Command app, Session& session);
void add_init(Command app, Session& session);
void add_artifacts(Command app, Session& session);
void add_diff(Command app, Session& session);

/// The names there are, and the nearest.
Error no_such_op(const std::string& name, const Config& config);
/// Prints `gpuemu status`.
ExitCode show_status(Session& session);

}  // namespace gpuemu::cli
