// Converts trace files and plans to and from JSON. docs/schemas/trace.schema.json describes the
// format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// Largest trace file that is read: several times the size for 100,000 entries.
inline constexpr size_t kTraceBytesMax = size_t{512} << 20;

/// The optional parts of a trace.
struct Layers {
  bool input_tape = true, output_queue = true, handles = true, ticks = true;
};
/// Parses "input_tape", "output_queue", "handles" and "ticks"; an empty list means all.
/// InvalidArgument for another name.
Result<Layers> layers_named(const std::vector<std::string>& names);

std::string encode_trace(const Trace& trace, const Layers& layers = {});
/// InvalidArgument if it is not a trace of version 1; the message names the member.
Result<Trace> decode_trace(std::string_view json);

/// Reads the input of a plan: a tape and, if the file has them, devices, sessions, seed and policy.
/// Accepts a trace file too. InvalidArgument as above.
Result<Trace> decode_plan(std::string_view json);

/// Reads a JSON array of entries of the input tape. InvalidArgument names the entry and the member.
Result<std::vector<Entry>> decode_entries(std::string_view json);

}  // namespace gpuemu::tape
