// Rewrites the parser's tokens rather than text, so that comments, strings and names stay
// unchanged.
#include "runtime/cuda/pin_rounding.h"

#include <algorithm>
#include <array>

#include "runtime/ptx/lexer.h"

namespace gpuemu::cuda {
namespace {

/// Returns whether it has no rounding and ends with a floating-point type, like "add.ftz.f32".
bool may_be_fused(std::string_view word) {
  if (!word.starts_with("add.") && !word.starts_with("sub.") && !word.starts_with("mul.")) {
    return false;
  }
  static constexpr std::array<std::string_view, 7> kTypes = {"f32",  "f64",    "f16",  "f16x2",
                                                             "bf16", "bf16x2", "f32x2"};
  bool is_float = false;
  for (size_t at = 4; at <= word.size();) {
    const size_t end = std::min(word.find('.', at), word.size());
    const std::string_view modifier = word.substr(at, end - at);
    is_float = std::ranges::find(kTypes, modifier) != kTypes.end();
    if (!is_float && modifier != "ftz" && modifier != "sat") return false;
    at = end + 1;
  }
  return is_float;
}

}  // namespace

std::string pin_rounding(std::string_view ptx) {
  constexpr size_t kFamily = 3;  // Length of "add".
  std::string out;
  out.reserve(ptx.size() + ptx.size() / 64);
  size_t copied = 0;
  ptx::Lexer lexer(ptx);
  for (ptx::Token token = lexer.next(); token.kind != ptx::TokenKind::End; token = lexer.next()) {
    if (token.kind != ptx::TokenKind::Word || !may_be_fused(token.text)) continue;
    const size_t split = static_cast<size_t>(token.text.data() - ptx.data()) + kFamily;
    out.append(ptx.substr(copied, split - copied)).append(".rn");
    copied = split;
  }
  return out.append(ptx.substr(copied));
}

}  // namespace gpuemu::cuda
