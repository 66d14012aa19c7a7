// Functions that need a stopped launch, and the report of a stop.
#pragma once

#include <string>
#include <vector>

#include "cli/debug/context.h"
#include "cli/debug/stepping.h"

namespace gpuemu::cli {

/// Returns the stopped launch; InvalidArgument if there is none.
Result<const DebugView*> stopped_view(const DebugContext& context);
/// Prints where and why the launch stopped.
void print_stop(DebugContext& context, const std::vector<std::string>& why);
/// Returns the text of a source file that the PTX names; "" if neither the case nor the disk has
/// it.
std::string source_of(const DebugContext& context, const std::string& file);
/// Returns the registers of the focused thread's warp.
std::vector<DebugRegister> focused_registers(const DebugContext& context);

}  // namespace gpuemu::cli
