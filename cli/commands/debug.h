// Registration of `gpuemu debug`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/session.h"

namespace gpuemu::cli {

void add_debug(CLI::App& app, Session& session);

}  // namespace gpuemu::cli
