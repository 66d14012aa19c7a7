// A trace for people and for viewers of traces. Pure functions.
#pragma once

#include <string>

#include "runtime/tape/tape.h"

namespace gpuemu::cli {

/// Tick by tick: what each device does, moves, and what ended.
std::string trace_text(const tape::Trace& trace);
/// Trace events as Chrome and Perfetto read them: a process for each host, a thread for each
/// device, a flow for each move.
std::string trace_chrome(const tape::Trace& trace);
/// One page that needs nothing from elsewhere.
std::string trace_html(const tape::Trace& trace);

}  // namespace gpuemu::cli
