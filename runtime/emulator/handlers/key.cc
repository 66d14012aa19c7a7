#include "runtime/emulator/handlers/key.h"

#include <algorithm>
#include <vector>

namespace gpuemu::emulator {
namespace {

/// Returns whether the word is a type: a letter for the kind, the bits, and optionally a count,
/// such as "s32", "bf16x2" or "e4m3x2".
bool is_type(std::string_view word) {
  if (word == "pred" || word == "tf32") return true;
  if (word.starts_with("bf")) word.remove_prefix(1);
  if (word.size() < 2 || std::string_view("busfe").find(word[0]) == std::string_view::npos) {
    return false;
  }
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool small_float = word[0] == 'e' || word.starts_with("ue");
  return std::ranges::all_of(word.substr(1),
                             [&](char c) {
                               return digit(c) || c == 'x' ||
                                      (small_float && (c == 'm' || c == 'e'));
                             }) &&
         (digit(word[1]) || small_float);
}

}  // namespace

std::string canonical_key(std::string_view key) {
  std::vector<std::string_view> modifiers, types;
  size_t at = std::min(key.find('.'), key.size());
  std::string out(key.substr(0, at));
  while (at < key.size()) {
    const size_t end = std::min(key.find('.', at + 1), key.size());
    const std::string_view word = key.substr(at + 1, end - at - 1);
    (is_type(word) ? types : modifiers).push_back(word);
    at = end;
  }
  std::ranges::sort(modifiers);
  for (const auto* words : {&modifiers, &types}) {
    for (const std::string_view word : *words) out.append(".").append(word);
  }
  return out;
}

}  // namespace gpuemu::emulator
