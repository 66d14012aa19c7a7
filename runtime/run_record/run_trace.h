// The trace of `gpuemu run --trace`: a timeline of each process, in Chrome's trace event format.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace gpuemu {

/// A row of the timeline: a host thread or a stream of a device.
struct RunTraceRow {
  int process = 0;
  uint64_t number = 0;  ///< Unique for every row of a process.
  std::string name;     ///< "device 0, stream 16"
};

struct RunTraceEvent {
  std::string name;       ///< "cuLaunchKernel", or the name of a kernel.
  const char* kind = "";  ///< "call" or "kernel".
  int process = 0;
  uint64_t row = 0;
  uint64_t begin_ns = 0, end_ns = 0;  ///< CLOCK_MONOTONIC, which all processes share.
  uint64_t instructions = 0;          ///< Executed by the threads of a kernel.
};

/// Returns one line with its line feed.
std::string encode_line(const RunTraceRow& row);
std::string encode_line(const RunTraceEvent& event);

/// Returns "FOLDER/PID.trace", to which a process writes its lines.
std::string trace_file_name(const std::string& folder, int pid);

/// Writes the lines of all processes as one document, without incomplete lines of killed processes.
/// Io names what cannot be read or written.
Status write_trace(const std::string& folder, const std::string& path);

}  // namespace gpuemu
