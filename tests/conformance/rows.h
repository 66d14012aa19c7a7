// Rows of the PTX table: one instruction, operands and the results that the ISA's definition gives.
// tests/ptx/rows/*.ptxt hold them; the same text runs on every backend.
//
//   target sm_80                       of the module
//   prelude .func ... { ... }          lines of the module before the entries, for calls
//   row min.s32                        the name; without `text` also the instruction
//   types b32 = b32 b32                results = operands: b8 b16 b32 b64 pred
//   text min.s32 %d, %a, %b;           results are %d %e %f %g, operands %a %b %c %h %i %j
//   1 ffffffff = ffffffff              a thread each: operands = results in hexadecimal; * is any
//
// A text may use 64 zeroed bytes of a thread's own: %m (global), %s (shared), %l (local), the
// constant array k with k[i] = 3 i + 1 and the parameter block q with q[i] = i, and %t, the
// thread's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::rows {

struct Case {
  uint32_t line = 0;
  std::vector<uint64_t> operands;
  std::vector<std::optional<uint64_t>> results;  ///< Nothing where any bits are right.
};

struct Row {
  std::string name;
  std::string text;
  uint32_t line = 0;
  std::vector<std::string> result_types, operand_types;
  std::vector<Case> cases;
};

struct RowFile {
  std::string target;
  std::string prelude;
  std::vector<Row> rows;
};

inline constexpr uint32_t kScratchBytes = 64;

/// Compile error "name:line: what" for text that is not as above.
Result<RowFile> parse_rows(std::string_view text, const std::string& name);

/// One entry for each row, row0, row1 ...: operands, results and scratch as pointers, the number of
/// threads, and the block q.
std::string module_of(const RowFile& file);

}  // namespace gpuemu::rows
