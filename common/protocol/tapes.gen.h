// Tapes: lists of ops that the daemon schedules over its devices, and what became of them.
// Written by tools/make_protocol.py from tapes.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/tensor/tensor.h"

namespace gpuemu {

struct TapeAcceptedReply {
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  bool operator==(const TapeAcceptedReply&) const = default;
};

struct TapeStatusReply {
  /// Entries that have ended, with those that failed. A drop ends once nothing needs the tensor any
  /// more.
  uint64_t done = 0;
  uint64_t total = 0;  ///< All entries that the session has submitted.
  uint64_t failed = 0;
  bool operator==(const TapeStatusReply&) const = default;
};

struct TensorReply {
  Tensor tensor;
  bool operator==(const TensorReply&) const = default;
};

struct TraceReply {
  std::string trace_json;  ///< As trace files have it (docs/schemas/trace.schema.json).
  bool operator==(const TraceReply&) const = default;
};

/// Appends entries to the tape of the session: all of them or none.
struct SubmitTapeRequest {
  std::string entries_json;  ///< A list of objects with id, op, inputs, shape, dtype and attrs.
  bool operator==(const SubmitTapeRequest&) const = default;
};

/// How many entries of the session's tape have ended.
struct TapeStatusRequest {
  std::optional<uint64_t> wait_ms;  ///< Wait so long until all of them have.
  bool operator==(const TapeStatusRequest&) const = default;
};

/// The values of a tensor of the session's tape, once they are computed.
struct FetchTensorRequest {
  std::string id;
  bool operator==(const FetchTensorRequest&) const = default;
};

/// `gpuemu trace live`: input tape, output queue, handles and ticks of the daemon.
struct GetTraceRequest {
  std::string session;  ///< The secret of the session whose entries are told; absent: all.
  std::string name;  ///< As session, by the name.
  /// Some of input_tape, output_queue, handles and ticks; empty: all.
  std::vector<std::string> layers;
  bool operator==(const GetTraceRequest&) const = default;
};

}  // namespace gpuemu
