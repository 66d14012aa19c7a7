// Trace files and plans as JSON and back. docs/schemas/trace.schema.json describes the form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// Largest trace file that is read: several times what 100,000 entries take.
inline constexpr size_t kTraceBytesMax = size_t{512} << 20;

/// The parts of a trace that may be left out.
struct Layers {
  bool input_tape = true, output_queue = true, handles = true, ticks = true;
};
/// "input_tape", "output_queue", "handles" and "ticks"; all of them for an empty list.
/// InvalidArgument for another name.
Result<Layers> layers_named(const std::vector<std::string>& names);

std::string encode_trace(const Trace& trace, const Layers& layers = {});
/// InvalidArgument for what is no trace of version 1; the message names the member.
Result<Trace> decode_trace(std::string_view json);

/// What a plan begins with: a tape, and where the file says so devices, sessions, seed and policy.
/// A trace file is one, too. InvalidArgument as above.
Result<Trace> decode_plan(std::string_view json);

/// A JSON array of entries of the input tape. InvalidArgument names the entry and the member.
Result<std::vector<Entry>> decode_entries(std::string_view json);

}  // namespace gpuemu::tape
