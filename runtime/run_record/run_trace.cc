#include "runtime/run_record/run_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

namespace gpuemu {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kTraceExtension = ".trace";

std::string event_line(const json& event) {
  return event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

double microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

std::string encode_line(const RunTraceRow& row) {
  return event_line({{"ph", "M"},
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
  return event_line(made);
}

std::string trace_file_name(const std::string& folder, int pid) {
  return (fs::path(folder) / (std::to_string(pid) + kTraceExtension)).string();
}

Status write_trace(const std::string& folder, const std::string& path) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == kTraceExtension) files.push_back(entry.path());
  }
  if (failed) return error(ErrorCode::Io, "cannot read {}: {}", folder, failed.message());
  std::ranges::sort(files);
  std::ofstream to(path, std::ios::trunc);
  to << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  bool is_first = true;
  for (const fs::path& file : files) {
    std::ifstream from(file);
    if (!from) return error(ErrorCode::Io, "cannot read the trace in {}", file.string());
    for (std::string line; std::getline(from, line);) {
      if (!json::accept(line)) continue;
      to << (is_first ? "" : ",\n") << line;
      is_first = false;
    }
  }
  to << "\n]}\n";
  to.close();
  return to ? ok_status() : error(ErrorCode::Io, "cannot write the trace to {}", path);
}

}  // namespace gpuemu
