#include "daemon/remote/messages.h"

#include "common/base/bytes.h"
#include "daemon/worker/wire.h"

namespace gpuemu {
namespace {

/// Encodes or decodes everything but the program.
template <typename Wire>
void pass(Wire& wire, RemoteBegin& begin) {
  WorkerOptions& it = begin.options;
  wire::members(wire, it.backend, it.device_index, it.emulated_devices, it.sm, it.threads,
                it.contraction, it.contraction_seed, it.memory_limit_bytes, it.grace_ms,
                begin.module_key);
}

}  // namespace

std::vector<std::byte> encode_remote(const RemoteMessage& message) {
  ByteWriter out;
  out.write(static_cast<uint8_t>(message.kind));
  out.write(message.work);
  out.write(message.attempt);
  out.write(message.offset);
  std::vector<std::byte> bytes = out.take();
  bytes.insert(bytes.end(), message.body.begin(), message.body.end());
  return bytes;
}

Result<RemoteMessage> decode_remote(const std::vector<std::byte>& bytes) {
  ByteReader in(bytes);
  const auto kind = GPUEMU_TRY(in.read<uint8_t>());
  if (kind > static_cast<uint8_t>(RemoteKind::TapeAnswer)) {
    return error(ErrorCode::Corruption, "a message of kind {}", kind);
  }
  RemoteMessage message;
  message.kind = static_cast<RemoteKind>(kind);
  message.work = GPUEMU_TRY(in.read<uint64_t>());
  message.attempt = GPUEMU_TRY(in.read<uint32_t>());
  message.offset = GPUEMU_TRY(in.read<uint64_t>());
  message.body.assign(bytes.end() - static_cast<ptrdiff_t>(in.remaining()), bytes.end());
  return message;
}

std::vector<std::byte> encode_begin(const RemoteBegin& begin) {
  wire::Writer out;
  RemoteBegin copy = begin;
  pass(out, copy);
  return out.take();
}

Result<RemoteBegin> decode_begin(const std::vector<std::byte>& body) {
  ByteReader in(body);
  wire::Reader reader(in);
  RemoteBegin begin;
  pass(reader, begin);
  GPUEMU_TRY(reader.end());
  return begin;
}

std::vector<std::byte> encode_remote_tape(const RemoteTape& tape) {
  wire::Writer out;
  RemoteTape copy = tape;
  pass(out, copy.begin);
  out.value(copy.request);
  return out.take();
}

Result<RemoteTape> decode_remote_tape(const std::vector<std::byte>& body) {
  ByteReader in(body);
  wire::Reader reader(in);
  RemoteTape tape;
  pass(reader, tape.begin);
  reader.value(tape.request);
  GPUEMU_TRY(reader.end());
  return tape;
}

}  // namespace gpuemu
