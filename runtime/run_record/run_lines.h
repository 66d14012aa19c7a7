// The file that each process leaves for `gpuemu run`: one JSON document a line.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu {

/// With a line feed. A process has several lines of its own, of which the last counts, and a
/// finding several, whose counts are added.
std::string encode_line(const RunFinding& finding);
std::string encode_line(const RunProcess& process);
std::string encode_line(const RunUnsupported& unsupported);

/// "FOLDER/PID.run"
std::string run_file_name(const std::string& folder, int pid);

struct RunRecords {
  std::vector<RunFinding> findings;  ///< Folded.
  std::vector<RunProcess> processes;
  std::vector<RunUnsupported> unsupported;
};

/// What all processes left in the folder, by their order of start. Lines that a killed process did
/// not finish are left out.
Result<RunRecords> read_run_records(const std::string& folder);

/// The document of `--format json`.
struct RunProgram {
  std::vector<std::string> command;
  int exit_code = 0;          ///< What `gpuemu run` ends with.
  int program_exit_code = 0;  ///< What the program ended with.
  int signal = 0;
  double seconds = 0;
};
std::string run_json(const RunRecords& records, const RunProgram& program);

}  // namespace gpuemu
