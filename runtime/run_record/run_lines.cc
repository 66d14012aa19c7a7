#include "runtime/run_record/run_lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "runtime/device/finding_json.h"

namespace gpuemu {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFinding = "finding";
constexpr const char* kProcess = "process";
constexpr const char* kKernel = "kernel";
constexpr const char* kUnsupported = "unsupported";
constexpr const char* kForm = "form";
constexpr const char* kCode = "code";
constexpr const char* kExtension = ".run";

json json_of(const std::vector<RunFrame>& stack) {
  json made = json::array();
  for (const RunFrame& frame : stack) {
    made.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
  }
  return made;
}

json json_of(const RunHostCall& one) { return {{"call", one.call}, {"stack", json_of(one.stack)}}; }

json json_of(const RunFinding& one) {
  json made{{"kind", one.kind},
            {"severity", name_of(one.severity)},
            {"message", one.message},
            {"kernel", one.kernel},
            {"ptx_kernel", one.ptx_kernel},
            {"file", one.file},
            {"line", one.line},
            {"ptx_line", one.ptx_line},
            {"instruction", one.instruction},
            {"block", gpuemu::json_of(one.block)},
            {"thread", gpuemu::json_of(one.thread)},
            {"count", one.count},
            {"allocation", nullptr},
            {"host", json_of(one.host)},
            {"other", nullptr},
            {"process", one.process},
            {"test", one.tests.empty() ? "" : one.tests.front()},
            {"tests", one.tests},
            {"suppressed", one.suppressed}};
  if (one.allocation) {
    const RunAllocation& memory = *one.allocation;
    made["allocation"] = {{"name", memory.name},
                          {"bytes", memory.bytes},
                          {"offset", memory.offset},
                          {"stack", json_of(memory.stack)},
                          {"freed", json_of(memory.freed)}};
  }
  if (one.other) {
    const RunOther& other = *one.other;
    made["other"] = {{"file", other.file},         {"line", other.line},
                     {"ptx_line", other.ptx_line}, {"instruction", other.instruction},
                     {"kernel", other.kernel},     {"ptx_kernel", other.ptx_kernel},
                     {"host", json_of(other.host)}};
  }
  return made;
}

json json_of(const RunProcess& one) {
  return {{"pid", one.pid},         {"command", one.command},       {"launches", one.launches},
          {"kernels", one.kernels}, {"unfinished", one.unfinished}, {"rejected", one.rejected}};
}

json json_of(const RunKernel& one) {
  return {{"kernel", one.kernel}, {"ptx_kernel", one.ptx_kernel}, {"test", one.test}};
}

json json_of(const RunUnsupported& one) { return {{"call", one.call}, {"count", one.count}}; }

json json_of(const RunForm& one) {
  return {{"kernel", one.kernel},
          {"ptx_kernel", one.ptx_kernel},
          {"form", one.form},
          {"sm", one.sm},
          {"count", one.count}};
}

json json_of(const RunCode& one) {
  return {
      {"kernel", one.kernel}, {"ptx_kernel", one.ptx_kernel}, {"file", one.file}, {"sm", one.sm}};
}

json json_of(const std::vector<RunFidelity>& all) {
  json made = json::array();
  for (const RunFidelity& one : all) {
    made.push_back({{"kernel", one.kernel},
                    {"form", one.form},
                    {"count", one.count ? json(*one.count) : json()},
                    {"class", one.what},
                    {"why", one.why}});
  }
  return made;
}

std::vector<RunFrame> stack_of(const json& from) {
  std::vector<RunFrame> made;
  for (const json& one : from) {
    made.push_back({one.at("function"), one.at("file"), one.at("line")});
  }
  return made;
}

RunHostCall host_of(const json& from) { return {from.at("call"), stack_of(from.at("stack"))}; }

Dim3 dim_of(const json& from) { return {from.at(0), from.at(1), from.at(2)}; }

RunSeverity severity_of(const std::string& name) {
  for (const RunSeverity one : {RunSeverity::Error, RunSeverity::Warning}) {
    if (name_of(one) == name) return one;
  }
  return RunSeverity::Note;
}

RunFinding finding_of(const json& from) {
  RunFinding made;
  made.kind = from.at("kind");
  made.severity = severity_of(from.at("severity"));
  made.message = from.at("message");
  made.kernel = from.at("kernel");
  made.ptx_kernel = from.at("ptx_kernel");
  made.file = from.at("file");
  made.line = from.at("line");
  made.ptx_line = from.at("ptx_line");
  made.instruction = from.at("instruction");
  made.block = dim_of(from.at("block"));
  made.thread = dim_of(from.at("thread"));
  made.count = from.at("count");
  made.host = host_of(from.at("host"));
  made.process = from.at("process");
  made.tests = from.at("tests");
  if (const json& memory = from.at("allocation"); !memory.is_null()) {
    made.allocation = {memory.at("name"), memory.at("bytes"), memory.at("offset"),
                       stack_of(memory.at("stack")), stack_of(memory.at("freed"))};
  }
  if (const json& other = from.at("other"); !other.is_null()) {
    made.other = {other.at("file"),         other.at("line"),   other.at("ptx_line"),
                  other.at("instruction"),  other.at("kernel"), other.at("ptx_kernel"),
                  host_of(other.at("host"))};
  }
  return made;
}

template <typename Record>
std::string line_of(const char* what, const Record& record) {
  // Names in a program may not be valid UTF-8.
  return json{{what, json_of(record)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void read_line(const json& one, RunRecords& records, RunProcess& process) {
  if (one.contains(kFinding)) records.findings.push_back(finding_of(one[kFinding]));
  if (one.contains(kProcess)) {
    const json& said = one[kProcess];
    process = {said.at("pid"),     said.at("command"),    said.at("launches"),
               said.at("kernels"), said.at("unfinished"), said.at("rejected")};
  }
  if (one.contains(kKernel)) {
    const json& said = one[kKernel];
    records.kernels.push_back({said.at("kernel"), said.at("ptx_kernel"), said.at("test")});
  }
  if (one.contains(kUnsupported)) {
    const json& said = one[kUnsupported];
    records.unsupported.push_back({said.at("call"), said.at("count")});
  }
  if (one.contains(kForm)) {
    const json& said = one[kForm];
    records.forms.push_back({said.at("kernel"), said.at("ptx_kernel"), said.at("form"),
                             said.at("sm"), said.at("count")});
  }
  if (one.contains(kCode)) {
    const json& said = one[kCode];
    records.code.push_back(
        {said.at("kernel"), said.at("ptx_kernel"), said.at("file"), said.at("sm")});
  }
}

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
    try {
      read_line(json::parse(line), records, process);
    } catch (const json::exception&) {
      continue;  // A killed process may leave an incomplete line.
    }
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

std::string encode_line(const RunFinding& finding) { return line_of(kFinding, finding); }
std::string encode_line(const RunProcess& process) { return line_of(kProcess, process); }
std::string encode_line(const RunKernel& kernel) { return line_of(kKernel, kernel); }
std::string encode_line(const RunUnsupported& one) { return line_of(kUnsupported, one); }
std::string encode_line(const RunForm& form) { return line_of(kForm, form); }
std::string encode_line(const RunCode& code) { return line_of(kCode, code); }

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

std::string run_json(const RunRecords& records, const RunProgram& program) {
  json document{{"schema", "gpuemu-run/1"},
                {"command", program.command},
                {"exit_code", program.exit_code},
                {"program",
                 {{"exit_code", program.program_exit_code},
                  {"signal", program.signal},
                  {"seconds", program.seconds},
                  {"left_running", program.left_running}}},
                {"processes", json::array()},
                {"findings", json::array()},
                {"unsupported", json::array()},
                {"fidelity", json_of(records.fidelity)},
                {"fidelity_not_covered", kNotCovered}};
  for (const RunProcess& one : records.processes) document["processes"].push_back(json_of(one));
  for (const RunFinding& one : records.findings) document["findings"].push_back(json_of(one));
  for (const RunUnsupported& one : records.unsupported) {
    document["unsupported"].push_back(json_of(one));
  }
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string fidelity_json(const std::vector<RunFidelity>& fidelity) {
  return json_of(fidelity).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace gpuemu
