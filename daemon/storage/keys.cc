#include "daemon/storage/keys.h"

#include <charconv>

namespace gpuemu::storage {
namespace {

constexpr size_t kDigits = 20;

/// The number behind the last ':' of `text`, which loses both.
std::optional<uint64_t> take_number(std::string_view& text) {
  if (text.size() < kDigits + 1 || text[text.size() - kDigits - 1] != ':') return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  text.remove_suffix(kDigits + 1);
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + kDigits, number);
  if (failed != std::errc() || end != digits.data() + kDigits) return std::nullopt;
  return number;
}

}  // namespace

std::optional<FailureKey> parse_failure_key(std::string_view key) {
  const auto stamp = take_number(key);
  const auto seed = stamp ? take_number(key) : std::nullopt;
  if (!seed) return std::nullopt;
  return FailureKey{key, *seed, *stamp};
}

}  // namespace gpuemu::storage
