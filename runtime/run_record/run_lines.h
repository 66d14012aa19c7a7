// Writes and reads the file in which each process leaves its results for `gpuemu run`: one JSON
// document per line.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu {

/// Returns a line with its line feed. If a process writes its own record several times, the last
/// one counts. Counts of a finding that is written several times are added.
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

/// Returns "FOLDER/PID.launches": three numbers of eight bytes, the launches issued, ended and
/// rejected so far, which survive if the process is killed.
std::string launches_file_name(const std::string& folder, int pid);

/// The results that the processes of a run left.
struct RunRecords {
  std::vector<RunFinding> findings;  ///< Unique, as returned by fold().
  std::vector<RunProcess> processes;
  std::vector<RunKernel> kernels;  ///< Sorted; unique for every test that launched the kernel.
  std::vector<RunUnsupported> unsupported;
  std::vector<RunForm> forms;         ///< Sorted; unique for every kernel and architecture.
  std::vector<RunCode> code;          ///< Sorted and unique.
  std::vector<RunFidelity> fidelity;  ///< Not read; runtime/fidelity computes it from the others.
};

/// Reads the files of all processes in the folder. Skips incomplete lines of killed processes. Io
/// names what cannot be read.
Result<RunRecords> read_run_records(const std::string& folder);

struct RunProgram {
  std::vector<std::string> command;
  int exit_code = 0;          ///< Exit code of `gpuemu run`.
  int program_exit_code = 0;  ///< Exit code of the program.
  int signal = 0;
  double seconds = 0;
  bool left_running = false;  ///< Processes that it started went on when it ended.
};
/// Returns the document of `--format json`.
std::string run_json(const RunRecords& records, const RunProgram& program);
/// What the classes of RunFidelity do not cover.
inline constexpr const char* kNotCovered[] = {"the choices of ptxas (contraction, scheduling)",
                                              "weak memory order", "timing"};
/// Returns the document of `--fidelity`: a list with an object for each form in a kernel.
std::string fidelity_json(const std::vector<RunFidelity>& fidelity);

}  // namespace gpuemu
