// The trace of `gpuemu run --trace`: what each process did when, in the format of Chrome's tracing.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"

namespace gpuemu {

/// A line of the picture: a thread of the host or a stream of a device.
struct RunTraceRow {
  int process = 0;
  uint64_t number = 0;  ///< Different for every row of a process.
  std::string name;     ///< "device 0, stream 16"
};

struct RunTraceEvent {
  std::string name;       ///< "cuLaunchKernel", or the name of a kernel.
  const char* kind = "";  ///< "call" or "kernel".
  int process = 0;
  uint64_t row = 0;
  uint64_t begin_ns = 0, end_ns = 0;  ///< By CLOCK_MONOTONIC, which all processes share.
  uint64_t instructions = 0;          ///< That the threads of a kernel executed.
};

/// Each is one line, with its line feed.
std::string encode_line(const RunTraceRow& row);
std::string encode_line(const RunTraceEvent& event);

/// Returns "FOLDER/PID.trace", where a process writes its lines.
std::string trace_file_name(const std::string& folder, int pid);

/// Writes the lines of all processes as one document; a line that a killed process did not finish
/// is left out. Io names what cannot be read or written.
Status write_trace(const std::string& folder, const std::string& path);

}  // namespace gpuemu
