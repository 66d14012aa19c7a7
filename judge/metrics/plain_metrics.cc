#include "judge/metrics/plain_metrics.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace gpuemu {
namespace {

constexpr std::string_view kBlank = " \t\r\f\v";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kMnemonic = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kName =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

/// Consumes a text from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string_view take(std::string_view characters) {
    const size_t end = std::min(rest_.find_first_not_of(characters), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return taken;
  }
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool at_end_or(std::string_view characters) const {
    return rest_.empty() || characters.find(rest_.front()) != std::string_view::npos;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

uint32_t saturating_sum(uint32_t sum, uint64_t more) {
  return static_cast<uint32_t>(std::min<uint64_t>(UINT32_MAX, uint64_t{sum} + more));
}

uint64_t number_of(std::string_view digits) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return parsed.ec == std::errc() ? std::min<uint64_t>(value, UINT32_MAX) : UINT32_MAX;
}

/// Returns 4 for ".reg .f32 %f<4>".
uint64_t registers_declared(std::string_view line) {
  uint64_t sum = 0;
  for (size_t at = line.find(".reg"); at != line.npos; at = line.find(".reg", at + 1)) {
    Reader in(line.substr(at + 4));
    if (in.take(kBlank).empty() || !in.take_word(".")) continue;
    if (in.take(kMnemonic).empty() || in.take(kBlank).empty() || !in.take_word("%")) continue;
    in.take(kName);
    if (!in.take_word("<")) continue;
    const std::string_view digits = in.take("0123456789");
    if (!digits.empty() && in.take_word(">")) sum += number_of(digits);
  }
  return sum;
}

/// Returns the number in the brackets of ".shared .align 4 .b8 buffer[256];".
uint64_t bytes_declared(std::string_view line, std::string_view space) {
  Reader in(line);
  in.take(kBlank);
  if (!in.take_word(space) || !in.at_end_or(kBlank)) return 0;
  const size_t open = line.find('[');
  if (open == line.npos) return 0;
  Reader inside(line.substr(open + 1));
  inside.take(kBlank);
  const std::string_view digits = inside.take("0123456789");
  inside.take(kBlank);
  return !digits.empty() && inside.take_word("]") ? number_of(digits) : 0;
}

/// Returns the mnemonic of "  ld.global.f32 %f1, [%rd1];"; empty for a line of another form.
std::string_view mnemonic_of(std::string_view line) {
  Reader in(line);
  if (in.take(kBlank).empty()) return {};
  const size_t start = std::min(line.find_first_not_of(kBlank), line.size());
  const std::string_view text = line.substr(start);
  if (text.empty() || kLower.find(text.front()) == text.npos) return {};
  Reader word(text);
  std::string_view last = word.take(kMnemonic);
  size_t length = last.size();
  while (word.take_word(".")) {
    last = word.take(kMnemonic);
    if (last.empty()) return {};
    length += 1 + last.size();
  }
  const bool ends =
      length < text.size() && (kBlank.find(text[length]) != text.npos || text[length] == ';');
  return ends || length == text.size() ? text.substr(0, length) : std::string_view();
}

uint32_t occurrences(std::string_view text, std::string_view word) {
  uint32_t found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    ++found;
  }
  return found;
}

/// Returns NAME from ".visible .entry NAME (".
std::string first_entry(std::string_view text) {
  constexpr std::string_view kVisible = ".visible";
  for (size_t at = text.find(kVisible); at != text.npos; at = text.find(kVisible, at + 1)) {
    Reader in(text.substr(at + kVisible.size()));
    if (in.take(" \t\r\n").empty() || !in.take_word(".entry")) continue;
    if (in.take(" \t\r\n").empty()) continue;
    const std::string_view name = in.take(kName);
    in.take(" \t\r\n");
    if (!name.empty() && in.take_word("(")) return std::string(name);
  }
  return "unknown";
}

}  // namespace

bool looks_like_ptx(std::string_view text) {
  for (const std::string_view word : {".version", ".target", ".entry", ".func", ".reg"}) {
    if (text.find(word) != text.npos) return true;
  }
  return false;
}

ArtifactMetrics plain_metrics(std::string_view ptx) {
  ArtifactMetrics metrics;
  metrics.kernel_name = first_entry(ptx);
  std::set<std::string_view> seen;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size());
    const std::string_view line = ptx.substr(begin, end - begin);
    begin = end + 1;
    metrics.register_count = saturating_sum(metrics.register_count, registers_declared(line));
    metrics.local_memory_bytes =
        saturating_sum(metrics.local_memory_bytes, bytes_declared(line, ".local"));
    metrics.shared_memory_bytes =
        saturating_sum(metrics.shared_memory_bytes, bytes_declared(line, ".shared"));
    const std::string_view mnemonic = mnemonic_of(line);
    if (mnemonic.empty()) continue;
    ++metrics.instruction_count;
    if (seen.insert(mnemonic).second) metrics.patterns_found.emplace_back(mnemonic);
  }
  metrics.spill_count = occurrences(ptx, "st.local") + occurrences(ptx, "ld.local");
  return metrics;
}

}  // namespace gpuemu
