#include "runtime/run_record/run_lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "runtime/run_record/run_json.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".run";

/// Takes the counts of a process that was killed, which its last record does not have.
void take_counts(const std::string& folder, RunProcess& process) {
  std::ifstream file(launches_file_name(folder, process.pid), std::ios::binary);
  std::array<uint64_t, 3> counts = {};  // Issued, ended and rejected.
  if (!file.read(reinterpret_cast<char*>(counts.data()), sizeof counts)) return;
  const auto [issued, ended, rejected] = counts;
  if (issued < process.launches) return;
  process.launches = issued;
  process.unfinished = issued - std::min(issued, ended);
  process.rejected = rejected;
}

Status read_process(const fs::path& path, RunRecords& records) {
  std::ifstream file(path);
  if (!file || !fs::is_regular_file(path)) {
    return error(ErrorCode::Io, "cannot read the findings in {}", path.string());
  }
  RunProcess process;
  const size_t earlier = records.kernels.size();
  for (std::string line; std::getline(file, line);) {
    // A killed process may leave an incomplete line.
    (void)read_line(line, records, process);
  }
  if (process.pid == 0) return ok_status();
  take_counts(path.parent_path().string(), process);
  // Its last line lacks the kernels of programs that the process executed before.
  std::set<std::string> kernels;
  for (size_t i = earlier; i < records.kernels.size(); ++i) {
    kernels.insert(records.kernels[i].ptx_kernel);
  }
  process.kernels = std::max<uint64_t>(process.kernels, kernels.size());
  records.processes.push_back(std::move(process));
  return ok_status();
}

std::vector<RunForm> sum_of(const std::vector<RunForm>& forms) {
  std::map<std::tuple<std::string, std::string, int>, RunForm> sums;
  for (const RunForm& one : forms) {
    const auto [at, is_new] = sums.try_emplace({one.ptx_kernel, one.form, one.sm}, one);
    if (!is_new) at->second.count += one.count;
  }
  std::vector<RunForm> made;
  for (auto& [key, one] : sums) made.push_back(std::move(one));
  return made;
}

}  // namespace

std::string run_file_name(const std::string& folder, int pid) {
  return (fs::path(folder) / (std::to_string(pid) + kExtension)).string();
}

std::string forms_file_name(const std::string& folder, int pid) {
  return (fs::path(folder) / (std::to_string(pid) + ".forms" + kExtension)).string();
}

std::string launches_file_name(const std::string& folder, int pid) {
  return (fs::path(folder) / (std::to_string(pid) + ".launches")).string();
}

Result<RunRecords> read_run_records(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == kExtension) files.push_back(entry.path());
  }
  if (failed) return error(ErrorCode::Io, "cannot read {}: {}", folder, failed.message());
  std::ranges::sort(files);
  RunRecords records;
  for (const fs::path& file : files) GPUEMU_TRY(read_process(file, records));
  records.findings = fold(std::move(records.findings));
  std::ranges::sort(records.kernels);
  const auto [again, end] = std::ranges::unique(records.kernels);
  records.kernels.erase(again, end);
  std::ranges::sort(records.code);
  const auto [same, last] = std::ranges::unique(records.code);
  records.code.erase(same, last);
  records.forms = sum_of(records.forms);
  std::map<std::string, uint64_t> calls;
  for (const RunUnsupported& one : records.unsupported) calls[one.call] += one.count;
  records.unsupported.clear();
  for (const auto& [call, count] : calls) records.unsupported.push_back({call, count});
  return records;
}

}  // namespace gpuemu
