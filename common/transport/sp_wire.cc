#include "common/transport/sp_wire.h"

namespace gpuemu {
namespace {

constexpr char kMessageType = 1;
constexpr size_t kWordBytes = 4;

}  // namespace

std::array<char, kMessageHeadBytes> message_head(uint64_t length) {
  std::array<char, kMessageHeadBytes> head{kMessageType};
  for (size_t i = 0; i < sizeof length; ++i) {
    head[kMessageHeadBytes - 1 - i] = static_cast<char>(length >> (8 * i));
  }
  return head;
}

std::optional<uint64_t> message_length(std::string_view head) {
  if (head.size() != kMessageHeadBytes || head.front() != kMessageType) return std::nullopt;
  uint64_t length = 0;
  for (const char byte : head.substr(1)) length = length << 8 | static_cast<uint8_t>(byte);
  return length;
}

std::optional<size_t> stack_bytes(std::string_view message) {
  constexpr uint8_t kLastWord = 0x80;
  for (size_t word = 0; word < kStackWordsMax; ++word) {
    const size_t at = word * kWordBytes;
    if (message.size() < at + kWordBytes) return std::nullopt;
    if ((static_cast<uint8_t>(message[at]) & kLastWord) != 0) return at + kWordBytes;
  }
  return std::nullopt;
}

}  // namespace gpuemu
