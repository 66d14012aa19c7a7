// Writes and reads the files of a run other than its findings: settings and traces.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "common/base/files.h"
#include "runtime/run_record/run_json.h"
#include "runtime/run_record/run_settings.h"
#include "runtime/run_record/run_trace.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSettingsBytesMax = size_t{1} << 20;

std::string settings_file(const std::string& folder) { return folder + "/settings.json"; }

constexpr const char* kTraceExtension = ".trace";

}  // namespace

Status write_run_settings(const std::string& folder, const DriverSettings& settings) {
  return write_file(settings_file(folder), settings_json(settings));
}

Result<DriverSettings> read_run_settings(const std::string& folder) {
  const std::string file = settings_file(folder);
  auto read = settings_of(GPUEMU_TRY(read_file(file, kSettingsBytesMax)));
  if (!read) return error(ErrorCode::Corruption, "{} is damaged: {}", file, read.error().message);
  return read;
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
      if (!is_json(line)) continue;
      to << (is_first ? "" : ",\n") << line;
      is_first = false;
    }
  }
  to << "\n]}\n";
  to.close();
  return to ? ok_status() : error(ErrorCode::Io, "cannot write the trace to {}", path);
}

}  // namespace gpuemu
