// Patterns of gpuemu.toml: what RE2 can search for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace gpuemu {

/// What is wrong with the pattern; nothing when it is sound.
std::optional<std::string> pattern_problem(const std::string& pattern);

/// Any thread.
class Pattern {
 public:
  /// REQUIRES: pattern_problem() has nothing to say.
  explicit Pattern(const std::string& text);
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  /// Whether it is found anywhere in `text`.
  bool found_in(std::string_view text) const;
  /// As it was written.
  const std::string& text() const;

 private:
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace gpuemu
