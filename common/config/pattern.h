// Patterns of gpuemu.toml, which are RE2 regular expressions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace gpuemu {

/// Returns what is wrong with the pattern; nothing if it is valid.
std::optional<std::string> pattern_problem(const std::string& pattern);

/// A valid pattern. Thread-safe.
class Pattern {
 public:
  /// Requires a pattern without a pattern_problem().
  explicit Pattern(const std::string& text);
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  /// Returns whether it matches anywhere in `text`.
  bool found_in(std::string_view text) const;
  /// Returns the pattern as written.
  const std::string& text() const;

 private:
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace gpuemu
