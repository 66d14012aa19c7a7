// Private to this folder: the bytes of NNG's request/reply protocol on a stream socket (the nanomsg
// RFCs sp-ipc-mapping-01 and sp-request-reply-01).
//
//   handshake  00 'S' 'P' 00 <protocol:u16> 00 00      both sides, first of all
//   message    01 <length:u64> <stack> <body>          numbers are big-endian
//   stack      words of 32 bits; the last one, the request's number, has its highest bit set. A
//              reply carries the stack of its request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuemu {

inline constexpr size_t kHandshakeBytes = 8;
inline constexpr std::string_view kReqHandshake{"\0SP\0\0\x30\0\0", kHandshakeBytes};
inline constexpr std::string_view kRepHandshake{"\0SP\0\0\x31\0\0", kHandshakeBytes};

/// Type and length in front of every message.
inline constexpr size_t kMessageHeadBytes = 9;
std::array<char, kMessageHeadBytes> message_head(uint64_t length);
/// Returns the length in the head; nothing if the head is invalid.
std::optional<uint64_t> message_length(std::string_view head);

/// Words that a request's stack may have: one for each device that it passed, and its number.
inline constexpr size_t kStackWordsMax = 16;
/// Returns the bytes of the stack at the start of `message`; nothing if it has no valid stack.
std::optional<size_t> stack_bytes(std::string_view message);

}  // namespace gpuemu
