#include "cli/run/suppressions.h"

#include <algorithm>

#include <fmt/core.h>
#include <fnmatch.h>

#include "common/base/files.h"
#include "common/toml/toml_document.h"

namespace gpuemu::cli {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr const char* kTable = "suppress";

struct Member {
  const char* key;
  std::string Suppression::* member;
};
constexpr Member kMembers[] = {{"kind", &Suppression::kind},    {"kernel", &Suppression::kernel},
                               {"file", &Suppression::file},    {"line", &Suppression::line},
                               {"call", &Suppression::call},    {"test", &Suppression::test},
                               {"reason", &Suppression::reason}};

Result<Suppression> read_entry(const TomlValue& table, const std::string& path) {
  Suppression made;
  made.place = fmt::format("{}:{}", path, table.line);
  size_t named = 0;
  for (const TomlEntry& entry : table.entries) {
    const Member* member = nullptr;
    for (const Member& one : kMembers) {
      if (entry.key == one.key) member = &one;
    }
    const bool is_text = entry.value.kind == TomlValue::Kind::Text;
    const bool is_number = entry.value.kind == TomlValue::Kind::Integer;
    if (member == nullptr || !(is_text || is_number)) {
      return error(
          ErrorCode::InvalidArgument,
          "{}:{}: '{}': expected kind, kernel, file, line, call, test or reason, with a text", path,
          entry.line, entry.key);
    }
    made.*(member->member) = is_text ? entry.value.text : std::to_string(entry.value.integer);
    if (member->member != &Suppression::reason) ++named;
  }
  if (made.reason.empty() || named == 0) {
    return error(
        ErrorCode::InvalidArgument,
        "{}: an entry needs a reason and at least one of kind, kernel, file, line, call, test",
        made.place);
  }
  return made;
}

bool fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// A pattern without '/' also matches the file name alone.
bool fits_file(const std::string& pattern, const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return fits(pattern, file) || (pattern.find('/') == pattern.npos && fits(pattern, name));
}

/// A finding that occurred in several tests must be accepted in each of them.
bool fits_tests(const std::string& pattern, const std::vector<std::string>& tests) {
  if (tests.empty()) return fits(pattern, "");
  return std::ranges::all_of(tests, [&](const std::string& one) { return fits(pattern, one); });
}

bool matches(const Suppression& one, const RunFinding& finding) {
  return fits(one.kind, finding.kind) &&
         (fits(one.kernel, finding.kernel) || fits(one.kernel, finding.ptx_kernel)) &&
         fits_file(one.file, finding.file) && fits(one.line, std::to_string(finding.line)) &&
         fits(one.call, finding.host.call) && fits_tests(one.test, finding.tests);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    // Escape what a glob would interpret.
    if (c == '*' || c == '?' || c == '[') out += "\\\\";
    out += c;
  }
  return out + "\"";
}

}  // namespace

Result<std::vector<Suppression>> read_suppressions(const std::string& path) {
  const std::string text = GPUEMU_TRY(read_file(path, kFileBytesMax));
  std::vector<ConfigProblem> problems;
  const auto document = parse_toml(text, path, problems);
  if (!document) return error(ErrorCode::InvalidArgument, "{}", problems.front().text());
  std::vector<Suppression> made;
  for (const TomlEntry& entry : document->entries) {
    if (entry.key != kTable || entry.value.kind != TomlValue::Kind::Array) {
      return error(ErrorCode::InvalidArgument, "{}:{}: '{}': expected [[suppress]] tables", path,
                   entry.line, entry.key);
    }
    for (const TomlValue& table : entry.value.items) {
      made.push_back(GPUEMU_TRY(read_entry(table, path)));
    }
  }
  return made;
}

void suppress(std::vector<RunFinding>& findings, std::vector<Suppression>& entries) {
  for (RunFinding& finding : findings) {
    for (Suppression& one : entries) {
      if (!matches(one, finding)) continue;
      if (!finding.suppressed) finding.suppression_reason = one.reason;
      finding.suppressed = true;
      ++one.matched;
    }
  }
}

std::string suppression_template(const std::vector<RunFinding>& findings) {
  std::string text;
  for (const RunFinding& one : findings) {
    if (one.suppressed) continue;
    text += fmt::format("[[suppress]]\nkind = {}\n", quoted(one.kind));
    if (!one.kernel.empty()) text += fmt::format("kernel = {}\n", quoted(one.ptx_kernel));
    if (one.kernel.empty()) text += fmt::format("call = {}\n", quoted(one.host.call));
    if (one.line != 0) text += fmt::format("file = {}\nline = {}\n", quoted(one.file), one.line);
    text += "reason = \"\"  # why this is accepted\n\n";
  }
  return text;
}

}  // namespace gpuemu::cli
