#include "cli/debug/words.h"

#include <algorithm>
#include <charconv>

#include "common/toml/nearest.h"

namespace gpuemu::cli {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";

/// Scans the line character by character and keeps incomplete words.
class Splitter {
 public:
  Status take(char letter) {
    if (quoted_) {
      if (letter == '"') return quoted_ = false, ok_status();
      word_ += letter;
      return ok_status();
    }
    if (depth_ == 0 && kSpaces.find(letter) != std::string_view::npos) return end_word();
    if (depth_ == 0 && (letter == ';' || letter == '\n')) return end_command();
    if (letter == '"') return begun_ = quoted_ = true, ok_status();
    begun_ = true;
    word_ += letter;
    if (letter == '[') ++depth_;
    if (letter != ']') return ok_status();
    if (depth_ == 0) {
      return error(ErrorCode::InvalidArgument, "'{}': a '[' is missing before the ']'", word_);
    }
    --depth_;
    return ok_status();
  }

  Result<std::vector<Words>> end() {
    if (quoted_) return error(ErrorCode::InvalidArgument, "'\"{}': the quote is not closed", word_);
    if (depth_ != 0) return error(ErrorCode::InvalidArgument, "'{}': a ']' is missing", word_);
    GPUEMU_TRY(end_command());
    return std::move(commands_);
  }

  bool between_words() const { return !begun_ && depth_ == 0 && !quoted_; }

 private:
  Status end_word() {
    if (begun_) command_.push_back(std::move(word_));
    word_.clear();
    begun_ = false;
    return ok_status();
  }
  Status end_command() {
    GPUEMU_TRY(end_word());
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_.clear();
    return ok_status();
  }

  std::vector<Words> commands_;
  Words command_;
  std::string word_;
  bool begun_ = false, quoted_ = false;
  size_t depth_ = 0;
};

}  // namespace

Result<std::vector<Words>> split_commands(std::string_view line) {
  Splitter splitter;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '#' && splitter.between_words()) {
      const size_t end = line.find('\n', at);
      if (end == std::string_view::npos) break;
      at = end;
    }
    GPUEMU_TRY(splitter.take(line[at]));
  }
  return splitter.end();
}

Result<uint64_t> parse_count(const std::string& word, std::string_view what) {
  const bool hex = word.starts_with("0x");
  const char* first = word.data() + (hex ? 2 : 0);
  const char* last = word.data() + word.size();
  uint64_t value = 0;
  const auto [stop, failed] = std::from_chars(first, last, value, hex ? 16 : 10);
  if (failed == std::errc() && stop == last) return value;
  return error(ErrorCode::InvalidArgument, "{} '{}': expected a whole number from 0", what, word);
}

Result<Dim3> parse_index3(const std::string& word, std::string_view what) {
  uint32_t axes[3] = {0, 0, 0};
  size_t axis = 0, begin = 0;
  while (true) {
    const size_t end = std::min(word.find(',', begin), word.size());
    const auto number = parse_count(word.substr(begin, end - begin), what);
    if (!number || *number > UINT32_MAX || axis == 3) {
      return error(ErrorCode::InvalidArgument, "{} '{}': expected X, X,Y or X,Y,Z", what, word);
    }
    axes[axis++] = static_cast<uint32_t>(*number);
    if (end == word.size()) return Dim3{axes[0], axes[1], axes[2]};
    begin = end + 1;
  }
}

std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> candidates,
                                     size_t count) {
  constexpr size_t kWordCharsMax = 64;
  const std::string_view short_word = word.substr(0, kWordCharsMax);
  const auto distance = [&](const std::string& candidate) {
    // A user who typed the beginning of a word means that word.
    const bool begins = !short_word.empty() && candidate.starts_with(short_word);
    return begins ? 0 : edit_distance(short_word, candidate.substr(0, kWordCharsMax));
  };
  std::ranges::stable_sort(candidates, {}, distance);
  if (candidates.size() > count) candidates.resize(count);
  return candidates;
}

}  // namespace gpuemu::cli
