// The terminal without an editing library: only the features of the terminal driver.
#include <iostream>

#include "cli/debug/input.h"

namespace gpuemu::cli {
namespace {

class Terminal final : public LineSource {
 public:
  explicit Terminal(std::string prompt) : prompt_(std::move(prompt)) {}
  bool interactive() const override { return true; }
  std::optional<std::string> next() override {
    std::cout << prompt_ << std::flush;
    std::string line;
    if (std::getline(std::cin, line)) return line;
    std::cout << '\n';
    return std::nullopt;
  }

 private:
  std::string prompt_;
};

}  // namespace

std::unique_ptr<LineSource> terminal_lines(const std::string& prompt, const std::string&,
                                           Completer) {
  return std::make_unique<Terminal>(prompt);
}

}  // namespace gpuemu::cli
