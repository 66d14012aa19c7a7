// A rewrite of tokens, not of text: it must not touch comments, strings or names.
#include "runtime/cuda/pin_rounding.h"

#include <algorithm>
#include <cctype>

namespace gpuemu::cuda {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.' || c == ':';
}

/// True for "add.ftz.f32" and the like: no rounding, a floating-point type at the end.
bool may_be_fused(std::string_view word) {
  if (!word.starts_with("add.") && !word.starts_with("sub.") && !word.starts_with("mul."))
    return false;
  constexpr std::string_view kTypes[] = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"};
  bool is_float = false;
  for (size_t at = 4; at <= word.size();) {
    const size_t end = std::min(word.find('.', at), word.size());
    const std::string_view modifier = word.substr(at, end - at);
    is_float = std::ranges::find(kTypes, modifier) != std::end(kTypes);
    if (!is_float && modifier != "ftz" && modifier != "sat") return false;
    at = end + 1;
  }
  return is_float;
}

/// The end of the comment or string that begins at `at`, or `at` itself.
size_t skip_text(std::string_view ptx, size_t at) {
  std::string_view close;
  if (ptx.substr(at).starts_with("//")) close = "\n";
  if (ptx.substr(at).starts_with("/*")) close = "*/";
  if (ptx[at] == '"') close = "\"";
  if (close.empty()) return at;
  const size_t end = ptx.find(close, at + (ptx[at] == '"' ? 1 : 2));
  return end == std::string_view::npos ? ptx.size() : end + close.size();
}

}  // namespace

std::string pin_rounding(std::string_view ptx) {
  std::string out;
  out.reserve(ptx.size() + ptx.size() / 64);
  for (size_t at = 0; at < ptx.size();) {
    size_t end = skip_text(ptx, at);
    if (end == at) {
      ++end;
      while (is_word(ptx[at]) && end < ptx.size() && is_word(ptx[end])) ++end;
    }
    const std::string_view token = ptx.substr(at, end - at);
    out += may_be_fused(token)
               ? std::string(token.substr(0, 3)) + ".rn" + std::string(token.substr(3))
               : std::string(token);
    at = end;
  }
  return out;
}

}  // namespace gpuemu::cuda
