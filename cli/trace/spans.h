// Private to this folder: when each line of an output queue ran, and its description.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/tape/tape.h"

namespace gpuemu::cli {

struct Span {
  std::optional<uint64_t> begin_us, end_us;  ///< Absent if the trace's ticks do not show it.
};

/// Looks up parts of a trace, which must outlive it.
class Spans {
 public:
  explicit Spans(const tape::Trace& trace);

  Span of(uint64_t pos) const;
  /// Returns null if the trace does not have it.
  const tape::Queued* line(uint64_t pos) const;
  const tape::Entry* entry(uint64_t seq) const;
  /// Returns "run c = add(a, b)", "move b 1>0" or "free a", followed by the number of the attempt
  /// if it is not the first.
  std::string text(const tape::Queued& line) const;

 private:
  std::string text_of_first(const tape::Queued& line) const;
  const tape::Trace& trace_;
  std::unordered_map<uint64_t, Span> spans_;
  std::unordered_map<uint64_t, const tape::Queued*> lines_;
  std::unordered_map<uint64_t, const tape::Entry*> entries_;
};

}  // namespace gpuemu::cli
