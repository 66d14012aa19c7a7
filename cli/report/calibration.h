// Prints measured errors as tables, and as the lines of gpuemu.toml that they suggest.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// The place where gpuemu.toml declares the op.
struct CalibrationPlace {
  bool is_kernel = false;  ///< It is declared by its kernel's entry, not by one in [[ops]].
  uint32_t end_line = 0;   ///< The entry's last line; 0: unknown.
};

void print_calibration(const CalibrationReply& reply, const CalibrationPlace& place,
                       std::ostream& out);

/// Returns the table for gpuemu.toml with its evidence as comments; "" if nothing was measured.
std::string calibration_toml(const CalibrationReply& reply, const CalibrationPlace& place);

}  // namespace gpuemu::cli
