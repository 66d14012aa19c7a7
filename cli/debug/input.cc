#include "cli/debug/input.h"

namespace gpuemu::cli {

std::optional<std::string> GivenLines::next() {
  if (lines_.empty()) return std::nullopt;
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

std::optional<std::string> StreamLines::next() {
  std::string line;
  if (!std::getline(from_, line)) return std::nullopt;
  return line;
}

std::optional<std::string> ChainedLines::next() {
  if (first_ != nullptr) {
    if (auto line = first_->next()) return line;
    first_.reset();
  }
  return then_->next();
}

bool ChainedLines::interactive() const {
  return first_ != nullptr ? first_->interactive() : then_->interactive();
}

}  // namespace gpuemu::cli
