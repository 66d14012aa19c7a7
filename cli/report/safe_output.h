// What reaches a terminal through an output stream, whatever names and messages hold.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Passes text on to another buffer with what would make a terminal show something else than what
/// is there written as an escape: characters that turn the direction of writing (U+202A to U+202E,
/// U+2066 to U+2069) and the controls U+0080 to U+009F become "\u202e", such a byte that belongs to
/// no character "\x9b". In JSON that is the same text: these characters stand in strings alone.
class SafeOutput : public std::streambuf {
 public:
  /// `to` outlives it.
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
