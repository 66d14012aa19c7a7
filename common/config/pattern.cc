#include "common/config/pattern.h"

#include <re2/re2.h>

#include "common/base/check.h"

namespace gpuemu {

std::optional<std::string> pattern_problem(const std::string& pattern) {
  const RE2 compiled(pattern, RE2::Quiet);
  if (compiled.ok()) return std::nullopt;
  return compiled.error();
}

Pattern::Pattern(const std::string& text)
    : compiled_(std::make_unique<re2::RE2>(text, RE2::Quiet)) {
  GPUEMU_CHECK(compiled_->ok());
}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

bool Pattern::found_in(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

const std::string& Pattern::text() const { return compiled_->pattern(); }

}  // namespace gpuemu
