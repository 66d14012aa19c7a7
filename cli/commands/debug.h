// Registration of `gpuemu debug`.
#pragma once

#include "cli/commands/session.h"
#include "cli/parse/command.h"

namespace gpuemu::cli {

void add_debug(Command app, Session& session);

}  // namespace gpuemu::cli
