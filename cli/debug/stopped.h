// The moment in which a launch stops: what is told, and who may look.
#pragma once

#include <string>
#include <vector>

#include "cli/debug/context.h"
#include "cli/debug/stepping.h"

namespace gpuemu::cli {

/// The stopped launch. InvalidArgument when none is.
Result<const DebugView*> stopped_view(const DebugContext& context);
/// Tells where the launch stopped and why.
void print_stop(DebugContext& context, const std::vector<std::string>& why);
/// The text of a source file that the PTX names; "" when the case has none and none is there.
std::string source_of(const DebugContext& context, const std::string& file);
/// Registers of the focused thread's warp.
std::vector<DebugRegister> focused_registers(const DebugContext& context);

}  // namespace gpuemu::cli
