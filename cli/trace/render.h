// Renders a trace for users and for trace viewers. No side effects.
#pragma once

#include <string>

#include "runtime/tape/tape.h"

namespace gpuemu::cli {

/// Returns for each tick what each device does, the moves, and what ended.
std::string trace_text(const tape::Trace& trace);
/// Returns trace events for Chrome and Perfetto: a process for each host, a thread for each device,
/// a flow for each move.
std::string trace_chrome(const tape::Trace& trace);
/// Returns a self-contained page.
std::string trace_html(const tape::Trace& trace);

}  // namespace gpuemu::cli
