// Encodes ExecutionPlan, ExecutionReport and the other messages between daemon and worker.
//
//   frame   := length:u32  message            the length counts the message alone
//   message := kind:u8  body
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "daemon/executor/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// LastReport: a Report after which the worker ends, because its device is lost.
enum class MessageKind : uint8_t {
  Hello,
  LoadModule,
  Entries,
  Execute,
  Report,
  Failed,
  LastReport,
  Tape  ///< Both directions: a request of daemon/tapes, and its answer.
};

/// LoadModule: what the worker stores under `key`.
struct ModuleText {
  std::string key, name, ptx;
};

std::vector<std::byte> encode_hello(const DeviceProperties& properties);
std::vector<std::byte> encode_module(const ModuleText& module);
std::vector<std::byte> encode_entries(const std::vector<EntryInfo>& entries);
std::vector<std::byte> encode_plan(const ExecutionPlan& plan);
std::vector<std::byte> encode_report(const ExecutionReport& report, bool last);
std::vector<std::byte> encode_failure(const Error& failure);
std::vector<std::byte> encode_tape(std::span<const std::byte> body);

/// Corruption for bytes that the encoder cannot have written. Each reads after the kind, and
/// requires that nothing follows its message.
Result<MessageKind> decode_kind(ByteReader& in);
Result<DeviceProperties> decode_hello(ByteReader& in);
Result<ModuleText> decode_module(ByteReader& in);
Result<std::vector<EntryInfo>> decode_entries(ByteReader& in);
Result<ExecutionPlan> decode_plan(ByteReader& in);
Result<ExecutionReport> decode_report(ByteReader& in);
/// Returns the request passed to encode_tape().
Result<std::vector<std::byte>> decode_tape(ByteReader& in);
/// Returns the encoded error; Corruption if it is not one.
Error decode_failure(ByteReader& in);

}  // namespace gpuemu
