// Measured errors as tables and as the lines of gpuemu.toml that they suggest.
#pragma once

#include <ostream>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

void print_calibration(const CalibrationReply& reply, std::ostream& out);

/// The table for gpuemu.toml with its evidence as comments; "" where nothing was measured.
std::string calibration_toml(const CalibrationReply& reply);

}  // namespace gpuemu::cli
