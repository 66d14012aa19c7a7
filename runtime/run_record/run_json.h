// Private to this folder: the JSON of records, of trace events and of settings.
#pragma once

#include <string>

#include "common/base/result.h"
#include "runtime/run_record/run_lines.h"
#include "runtime/run_record/run_settings.h"

namespace gpuemu {

bool is_json(const std::string& text);

/// Adds what the line holds to the records, or replaces the process. Returns false for a line that
/// is not complete.
bool read_line(const std::string& line, RunRecords& records, RunProcess& process);

std::string settings_json(const DriverSettings& settings);
/// Corruption for text that settings_json() did not write.
Result<DriverSettings> settings_of(const std::string& text);

}  // namespace gpuemu
