// The format, the same since CUDA 5 except for some members:
//
//   ptxas info    : Compiling entry function 'NAME' for 'sm_80'
//   ptxas info    : Function properties for NAME
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 18 registers, used 1 barriers, 256 bytes smem, 372 bytes cmem[0]
//
// Between them are the properties of called functions, with names of their own.
#include "judge/metrics/ptxas_log.h"

#include <charconv>
#include <optional>
#include <vector>

#include "common/base/text.h"

namespace gpuemu {
namespace {

/// Removes and returns the number at the front; nothing if there is none.
std::optional<uint32_t> leading_number(std::string_view& text) {
  uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  text = trimmed(text);
  return value;
}

/// Returns the text after `mark` up to `end`, or to the end of the line.
std::string_view between(std::string_view line, std::string_view mark, char end) {
  const size_t at = line.find(mark);
  if (at == line.npos) return {};
  const std::string_view rest = line.substr(at + mark.size());
  return rest.substr(0, rest.find(end));
}

std::vector<std::string_view> members_of(std::string_view list) {
  std::vector<std::string_view> members;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    members.push_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return members;
}

void read_frame(std::string_view line, CompiledMetrics& metrics) {
  for (std::string_view member : members_of(line)) {
    const auto value = leading_number(member);
    if (!value) continue;
    if (member == "bytes stack frame") metrics.stack_bytes = *value;
    if (member == "bytes spill stores") metrics.spill_store_bytes = *value;
    if (member == "bytes spill loads") metrics.spill_load_bytes = *value;
  }
}

void read_usage(std::string_view list, CompiledMetrics& metrics) {
  for (std::string_view member : members_of(list)) {
    if (member.starts_with("used ")) member.remove_prefix(5);
    const auto value = leading_number(member);
    if (!value) continue;
    if (member == "registers") metrics.registers = *value;
    if (member == "barriers") metrics.barriers = *value;
    if (member == "bytes smem") metrics.shared_bytes = *value;
    const std::string_view bank = between(member, "bytes cmem[", ']');
    if (!bank.empty()) metrics.constant_bytes[std::string(bank)] = *value;
  }
}

}  // namespace

std::map<std::string, CompiledMetrics> read_ptxas_log(std::string_view log) {
  std::map<std::string, CompiledMetrics> entries;
  CompiledMetrics* entry = nullptr;
  std::string name;
  bool own_frame = false;  // The next frame line belongs to the entry, not to a called function.
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    const std::string_view compiled = between(line, "Compiling entry function '", '\'');
    if (!compiled.empty()) {
      name = compiled;
      entry = &entries[name];
      entry->arch = between(line, "' for '", '\'');
      own_frame = false;
      continue;
    }
    const std::string_view properties = between(line, "Function properties for ", '\n');
    if (!properties.empty()) {
      own_frame = trimmed(properties) == name;
      continue;
    }
    if (entry == nullptr) continue;
    if (own_frame && line.find("bytes stack frame") != line.npos) read_frame(line, *entry);
    const size_t used = line.find(": Used ");
    if (used != line.npos) read_usage(line.substr(used + 7), *entry);
  }
  return entries;
}

}  // namespace gpuemu
