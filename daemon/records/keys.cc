#include "daemon/records/keys.h"

#include <algorithm>
#include <charconv>

namespace gpuemu::storage {
namespace {

constexpr size_t kDigits = 20;

/// Removes the last ':' of `text` and the number after it, and returns the number.
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

std::optional<std::string_view> op_of_result_key(std::string_view key) {
  if (!take_number(key)) return std::nullopt;
  return key;
}

std::optional<uint64_t> seed_of_result_key(std::string_view key) { return take_number(key); }

std::optional<std::string_view> owner_of(std::string_view key) {
  const size_t colon = key.find(':');
  size_t length = 0;
  const auto [end, failed] =
      std::from_chars(key.data(), key.data() + std::min(colon, key.size()), length);
  if (colon == std::string_view::npos || failed != std::errc() || end != key.data() + colon) {
    return std::nullopt;
  }
  const std::string_view rest = key.substr(colon + 1);
  if (rest.size() <= length || rest[length] != ':') return std::nullopt;
  return rest.substr(0, length);
}

std::optional<FailureKey> parse_failure_key(std::string_view key) {
  const auto stamp = take_number(key);
  const auto seed = stamp ? take_number(key) : std::nullopt;
  if (!seed) return std::nullopt;
  return FailureKey{key, *seed, *stamp};
}

std::optional<ArtifactKey> parse_artifact_key(std::string_view key) {
  const auto stamp = take_number(key);
  if (!stamp) return std::nullopt;
  return ArtifactKey{key, *stamp};
}

}  // namespace gpuemu::storage
