#include "common/base/text.h"

#include <fmt/core.h>

namespace gpuemu {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string counted(uint64_t count, std::string_view noun) {
  const bool takes_es = noun.ends_with('s') || noun.ends_with("ch");
  const std::string_view ending = count == 1 ? "" : takes_es ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, ending);
}

}  // namespace gpuemu
