#include "cli/cluster/cluster_lines.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

struct WordRow {
  std::string_view name;
  ClusterWord word;
};
constexpr WordRow kWords[] = {
    {"result", ClusterWord::Result},   {"progress", ClusterWord::Progress},
    {"warning", ClusterWord::Warning}, {"note", ClusterWord::Note},
    {"ended", ClusterWord::Ended},     {"usage", ClusterWord::Usage},
    {"failed", ClusterWord::Failed},   {"done", ClusterWord::Done},
};

constexpr uint32_t kPortMax = 65535, kLocalNodesMax = 64;

bool is_number_up_to(std::string_view text, uint32_t most) {
  uint32_t value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && stop == text.data() + text.size() && value >= 1 && value <= most;
}

bool is_host_and_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  const bool is_word = host.find_first_of(" \t\n/@") == std::string_view::npos;
  const bool is_address = host.front() == '[' && host.back() == ']';
  const bool has_colon = host.find(':') != std::string_view::npos;
  return is_word && (is_address || !has_colon) && is_number_up_to(text.substr(colon + 1), kPortMax);
}

}  // namespace

std::optional<ClusterLine> cluster_line(std::string_view line) {
  const size_t space = line.find(' ');
  const auto* const row = std::ranges::find(kWords, line.substr(0, space), &WordRow::name);
  if (row == std::end(kWords)) return std::nullopt;
  const bool has_text = space != std::string_view::npos;
  return ClusterLine{row->word, has_text ? std::string(line.substr(space + 1)) : ""};
}

std::vector<std::string> LineReader::add(std::string_view bytes) {
  std::vector<std::string> lines;
  begun_.append(bytes);
  size_t begin = 0;
  for (size_t end = begun_.find('\n'); end != std::string::npos; end = begun_.find('\n', begin)) {
    lines.push_back(begun_.substr(begin, end - begin));
    begin = end + 1;
  }
  begun_.erase(0, begin);
  return lines;
}

std::string cluster_address_problem(const std::string& address) {
  constexpr std::string_view kLocal = "local:", kClient = "ray://";
  const std::string_view text = address;
  if (text == "auto") return "";
  if (text.starts_with(kLocal)) {
    if (is_number_up_to(text.substr(kLocal.size()), kLocalNodesMax)) return "";
    return fmt::format("'{}': expected local:N with N nodes, 1 to {}", address, kLocalNodesMax);
  }
  const bool is_client = text.starts_with(kClient);
  if (is_host_and_port(is_client ? text.substr(kClient.size()) : text)) return "";
  return fmt::format("'{}': expected auto, HOST:PORT, ray://HOST:PORT or local:N", address);
}

}  // namespace gpuemu::cli
