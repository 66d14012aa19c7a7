#include "runtime/run_record/run_json.h"

#include <nlohmann/json.hpp>

#include "runtime/device/finding_json.h"
#include "runtime/run_record/run_trace.h"

namespace gpuemu {
namespace {

using nlohmann::json;

constexpr const char* kFinding = "finding";
constexpr const char* kProcess = "process";
constexpr const char* kKernel = "kernel";
constexpr const char* kUnsupported = "unsupported";
constexpr const char* kForm = "form";
constexpr const char* kCode = "code";

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

/// Names in a program may not be valid UTF-8.
std::string line_text(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

template <typename Record>
std::string line_of(const char* what, const Record& record) {
  return line_text({{what, json_of(record)}});
}

void take_members(const json& one, RunRecords& records, RunProcess& process) {
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

double microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

bool is_json(const std::string& text) { return json::accept(text); }

bool read_line(const std::string& line, RunRecords& records, RunProcess& process) {
  try {
    take_members(json::parse(line), records, process);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string encode_line(const RunFinding& finding) { return line_of(kFinding, finding); }
std::string encode_line(const RunProcess& process) { return line_of(kProcess, process); }
std::string encode_line(const RunKernel& kernel) { return line_of(kKernel, kernel); }
std::string encode_line(const RunUnsupported& one) { return line_of(kUnsupported, one); }
std::string encode_line(const RunForm& form) { return line_of(kForm, form); }
std::string encode_line(const RunCode& code) { return line_of(kCode, code); }

std::string encode_line(const RunTraceRow& row) {
  return line_text({{"ph", "M"},
                    {"name", "thread_name"},
                    {"pid", row.process},
                    {"tid", row.number},
                    {"args", {{"name", row.name}}}});
}

std::string encode_line(const RunTraceEvent& event) {
  json made = {{"ph", "X"},
               {"name", event.name},
               {"cat", event.kind},
               {"pid", event.process},
               {"tid", event.row},
               {"ts", microseconds(event.begin_ns)},
               {"dur", microseconds(event.end_ns - event.begin_ns)}};
  if (event.instructions != 0) made["args"] = {{"thread instructions", event.instructions}};
  return line_text(made);
}

std::string settings_json(const DriverSettings& settings) {
  json devices = json::array();
  for (const RunDevice& one : settings.devices) {
    devices.push_back({{"sm", one.sm}, {"memory_bytes", one.memory_bytes}});
  }
  const json document{{"devices", devices},
                      {"checks", settings.checks.bits()},
                      {"leaks", settings.leaks},
                      {"host_calls", settings.host_calls},
                      {"streams", settings.streams},
                      {"replicas", settings.replicas},
                      {"trace", settings.trace},
                      {"count_forms", settings.count_forms},
                      {"launch_timeout_ms", settings.launch_timeout_ms},
                      {"launch_timeout_restarts", settings.launch_timeout_restarts},
                      {"schedule_seed", settings.schedule_seed},
                      {"driver_version", settings.driver_version},
                      {"on_finding", static_cast<int>(settings.on_finding)},
                      {"findings_max", settings.findings_max}};
  return document.dump();
}

Result<DriverSettings> settings_of(const std::string& text) {
  try {
    const json document = json::parse(text);
    DriverSettings made;
    made.devices.clear();
    for (const json& one : document.at("devices")) {
      made.devices.push_back({one.at("sm"), one.at("memory_bytes")});
    }
    made.checks = DeviceChecks::from_bits(document.at("checks"));
    made.leaks = document.at("leaks");
    made.host_calls = document.at("host_calls");
    made.streams = document.at("streams");
    made.replicas = document.at("replicas");
    made.trace = document.at("trace");
    made.count_forms = document.at("count_forms");
    made.launch_timeout_ms = document.at("launch_timeout_ms");
    made.launch_timeout_restarts = document.at("launch_timeout_restarts");
    made.schedule_seed = document.at("schedule_seed");
    made.driver_version = document.at("driver_version");
    made.on_finding = static_cast<OnFinding>(document.at("on_finding").get<int>());
    made.findings_max = document.at("findings_max");
    return made;
  } catch (const json::exception& wrong) {
    return error(ErrorCode::Corruption, "{}", wrong.what());
  }
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
