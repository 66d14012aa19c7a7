#include "cli/parse/checks.h"

#include <algorithm>
#include <charconv>

#include "cli/parse/names.h"

namespace gpuemu::cli {

Check whole_number(uint64_t lowest, uint64_t highest) {
  return [lowest, highest](std::string& text) -> std::string {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc{} && stop == end && value >= lowest && value <= highest) return "";
    return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
  };
}

Check number(double lowest, double highest) {
  return [lowest, highest](std::string& text) -> std::string {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc{} && stop == end && value >= lowest && value <= highest) return "";
    return fmt::format("'{}' is not a number from {} to {}", text, lowest, highest);
  };
}

Check not_empty() {
  return [](std::string& text) -> std::string {
    return text.empty() ? "empty; is a variable not set?" : "";
  };
}

Check one_of(const std::vector<std::string>& words) {
  return [words](std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return "";
    return not_one_of(text, words);
  };
}

}  // namespace gpuemu::cli
