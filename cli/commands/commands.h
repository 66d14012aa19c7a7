// The table of subcommands, and their registrations. Each command sets session.exit_code when it
// has run.
#pragma once

#include "cli/parse/command.h"
#include "cli/session/session.h"

namespace gpuemu::cli {

// X(name) of every subcommand, in the order of `gpuemu --help`; add_NAME() is in NAME.cc.
// clang-format off
#define GPUEMU_COMMANDS(X) \
  X(init) \
  X(test) \
  X(fuzz) \
  X(failures) \
  X(reproduce) \
  X(minimize) \
  X(export) \
  X(mutate) \
  X(prove) \
  X(explain) \
  X(debug) \
  X(run) \
  X(nvcc) \
  X(lint) \
  X(artifacts) \
  X(baseline) \
  X(diff) \
  X(ci) \
  X(open) \
  X(report) \
  X(coverage) \
  X(calibrate) \
  X(config) \
  X(devices) \
  X(ops) \
  X(kernels) \
  X(daemon) \
  X(projects) \
  X(storage) \
  X(sessions) \
  X(top) \
  X(trace) \
  X(status) \
  X(completion)
// clang-format on

#define GPUEMU_DECLARE_COMMAND(name) void add_##name(Command app, Session& session);
GPUEMU_COMMANDS(GPUEMU_DECLARE_COMMAND)
#undef GPUEMU_DECLARE_COMMAND

/// Makes the error with the existing ops and the most similar name.
Error no_such_op(const std::string& name, const Config& config);
/// Prints `gpuemu status`.
ExitCode show_status(Session& session);

}  // namespace gpuemu::cli
