// Makes text for a terminal safe, whatever names and messages contain.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Passes text on to another buffer. Characters that could make a terminal show something other
/// than the text are escaped: those that change the direction of writing (U+202A to U+202E, U+2066
/// to U+2069) and the control characters U+0080 to U+009F become "\u202e", and bytes that belong to
/// no character become "\x9b". The meaning of JSON does not change, because these characters occur
/// only in its strings.
class SafeOutput : public std::streambuf {
 public:
  /// `to` must outlive it.
  explicit SafeOutput(std::streambuf& to) : to_(to) {}
  ~SafeOutput() override;
  SafeOutput(const SafeOutput&) = delete;
  SafeOutput& operator=(const SafeOutput&) = delete;

 protected:
  int_type overflow(int_type letter) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override { return to_.pubsync(); }

 private:
  bool put(std::string_view text);
  bool take(char letter);
  bool give_up_begun();

  std::streambuf& to_;
  std::string begun_;  ///< The first bytes of a character.
};

}  // namespace gpuemu::cli
