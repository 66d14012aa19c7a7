// Writes and reads the file that each process leaves for `gpuemu run`: one JSON document per line.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu {

/// Returns a line with its line feed. A process may write itself several times, and the last line
/// counts; a finding may be written several times, and its counts add up.
std::string encode_line(const RunFinding& finding);
std::string encode_line(const RunProcess& process);
std::string encode_line(const RunKernel& kernel);
std::string encode_line(const RunUnsupported& unsupported);
std::string encode_line(const RunForm& form);
std::string encode_line(const RunCode& code);

/// Returns "FOLDER/PID.run".
std::string run_file_name(const std::string& folder, int pid);
/// Returns "FOLDER/PID.forms.run", for the lines of forms and code.
std::string forms_file_name(const std::string& folder, int pid);

/// Returns "FOLDER/PID.launches": eight bytes with the launches so far, which stay behind when the
/// process is killed.
std::string launches_file_name(const std::string& folder, int pid);

/// What the processes of a run left.
struct RunRecords {
  std::vector<RunFinding> findings;  ///< Each once, as fold() returns them.
  std::vector<RunProcess> processes;
  std::vector<RunKernel> kernels;  ///< Sorted; each once for every test that launched it.
  std::vector<RunUnsupported> unsupported;
  std::vector<RunForm> forms;         ///< Sorted; each once for every kernel and architecture.
  std::vector<RunCode> code;          ///< Sorted, each once.
  std::vector<RunFidelity> fidelity;  ///< Not read: runtime/fidelity makes it of the others.
};

/// Reads the files of all processes in the folder. Skips a line that a killed process did not
/// finish. Io names what cannot be read.
Result<RunRecords> read_run_records(const std::string& folder);

struct RunProgram {
  std::vector<std::string> command;
  int exit_code = 0;          ///< What `gpuemu run` ends with.
  int program_exit_code = 0;  ///< What the program ended with.
  int signal = 0;
  double seconds = 0;
};
/// Returns the document of `--format json`.
std::string run_json(const RunRecords& records, const RunProgram& program);
/// What the classes of RunFidelity say nothing about.
inline constexpr const char* kNotCovered[] = {"the choices of ptxas (contraction, scheduling)",
                                              "weak memory order", "timing"};
/// Returns the document of `--fidelity`: a list with an object for each form of a kernel.
std::string fidelity_json(const std::vector<RunFidelity>& fidelity);

}  // namespace gpuemu
