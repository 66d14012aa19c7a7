// Where the lines that `gpuemu debug` executes come from.
#pragma once

#include <deque>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu::cli {

class LineSource {
 public:
  virtual ~LineSource() = default;
  /// The next line without its end; nothing at the end of all.
  virtual std::optional<std::string> next() = 0;
  /// Whether somebody sits there who sees an error and goes on.
  virtual bool interactive() const { return false; }
};

/// Given lines, one after the other.
class GivenLines final : public LineSource {
 public:
  explicit GivenLines(std::vector<std::string> lines) : lines_(lines.begin(), lines.end()) {}
  std::optional<std::string> next() override;

 private:
  std::deque<std::string> lines_;
};

/// A file or pipe, to its end.
class StreamLines final : public LineSource {
 public:
  explicit StreamLines(std::istream& from) : from_(from) {}
  std::optional<std::string> next() override;

 private:
  std::istream& from_;
};

/// One source after the other.
class ChainedLines final : public LineSource {
 public:
  ChainedLines(std::unique_ptr<LineSource> first, std::unique_ptr<LineSource> then)
      : first_(std::move(first)), then_(std::move(then)) {}
  std::optional<std::string> next() override;
  bool interactive() const override;

 private:
  std::unique_ptr<LineSource> first_, then_;
};

/// Words that may stand in place of the last one of `line`.
using Completer = std::function<std::vector<std::string>(const std::string& line)>;

/// A person at a terminal: editing, history (kept in the file, "" for nowhere) and completion with
/// Tab. Without the library for it, plain lines.
std::unique_ptr<LineSource> terminal_lines(const std::string& prompt,
                                           const std::string& history_file, Completer completer);

}  // namespace gpuemu::cli
