// Sources of the lines that `gpuemu debug` executes.
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
  /// Returns the next line without its end; nothing at the end of input.
  virtual std::optional<std::string> next() = 0;
  /// Returns whether a user is present who sees errors and can continue.
  virtual bool interactive() const { return false; }
};

/// Given lines, in order.
class GivenLines final : public LineSource {
 public:
  explicit GivenLines(std::vector<std::string> lines) : lines_(lines.begin(), lines.end()) {}
  std::optional<std::string> next() override;

 private:
  std::deque<std::string> lines_;
};

/// Reads a file or pipe to its end.
class StreamLines final : public LineSource {
 public:
  explicit StreamLines(std::istream& from) : from_(from) {}
  std::optional<std::string> next() override;

 private:
  std::istream& from_;
};

/// Reads one source after another.
class ChainedLines final : public LineSource {
 public:
  ChainedLines(std::unique_ptr<LineSource> first, std::unique_ptr<LineSource> then)
      : first_(std::move(first)), then_(std::move(then)) {}
  std::optional<std::string> next() override;
  bool interactive() const override;

 private:
  std::unique_ptr<LineSource> first_, then_;
};

/// Returns the words that could replace the last one of `line`.
using Completer = std::function<std::vector<std::string>(const std::string& line)>;

/// Reads from a user at a terminal, with editing, history (stored in the file; "": not stored) and
/// completion with Tab. Without the library for that, plain lines.
std::unique_ptr<LineSource> terminal_lines(const std::string& prompt,
                                           const std::string& history_file, Completer completer);

}  // namespace gpuemu::cli
