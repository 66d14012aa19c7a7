// Private to this folder: what a daemon and a remote worker send each other once the worker is
// accepted.
//
//   message := kind:u8 work:u64 attempt:u32 offset:u64 body
//
//   to the worker    Begin (options, module key), Data (inputs), Execute (plan), Module (text),
//                    Cancel; Tape (a request of daemon/tapes; offset 1: the first of a channel)
//   to the daemon    WantModule, Data (outputs), Report or Failed, which end the work; TapeAnswer,
//                    or Failed where what the channel has kept is gone
//   both ways        Heartbeat
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

enum class RemoteKind : uint8_t {
  Heartbeat,
  Begin,
  Data,
  Execute,
  WantModule,
  Module,
  Report,
  Failed,
  Cancel,
  Tape,
  TapeAnswer
};

struct RemoteMessage {
  RemoteKind kind = RemoteKind::Heartbeat;
  uint64_t work = 0;     ///< Unique over all work that a daemon distributes.
  uint32_t attempt = 0;  ///< Number of the attempt at that work.
  uint64_t offset = 0;   ///< Data: the offset in the arena.
  std::vector<std::byte> body = {};
};

std::vector<std::byte> encode_remote(const RemoteMessage& message);
/// Corruption if the encoder could not have written the bytes.
Result<RemoteMessage> decode_remote(const std::vector<std::byte>& bytes);

/// Body of Begin: how the worker runs the plan. The worker's program is its own.
struct RemoteBegin {
  WorkerOptions options;
  std::string module_key;
};
std::vector<std::byte> encode_begin(const RemoteBegin& begin);
Result<RemoteBegin> decode_begin(const std::vector<std::byte>& body);

/// Body of Tape.
struct RemoteTape {
  RemoteBegin begin;  ///< How it runs; the key names the tape's device.
  std::vector<std::byte> request;
};
std::vector<std::byte> encode_remote_tape(const RemoteTape& tape);
Result<RemoteTape> decode_remote_tape(const std::vector<std::byte>& body);

/// The size of the part of an arena that one message carries.
inline constexpr size_t kDataBytesMax = size_t{1} << 20;
/// The limit on messages before their worker is accepted.
inline constexpr size_t kRegisterBytesMax = size_t{64} << 10;

}  // namespace gpuemu
