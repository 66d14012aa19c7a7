#include "cli/report/calibration.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/report/text.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// Formats a number for TOML: floats need a point or an exponent.
std::string toml_number(double value) {
  std::string text = fmt::format("{:.2g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string tolerance_text(const CalibratedDType& one) {
  if (one.is_exact) return "0.0";
  return fmt::format("{{ atol = {}, rtol = {} }}", toml_number(one.atol), toml_number(one.rtol));
}

const CalibrationRow& worst_row(const CalibratedDType& one) {
  return *std::ranges::max_element(one.rows, {}, [](const CalibrationRow& row) {
    return std::pair(row.bound_use, row.max_abs);
  });
}

void print_rows(const CalibratedDType& one, std::ostream& out) {
  out << fmt::format("  {:<18} {:>6} {:>11} {:>11} {:>9} {:>12}\n", "values", "cases", "largest",
                     "relative", "ulp", "of its bound");
  for (const CalibrationRow& row : one.rows) {
    out << fmt::format("  {:<18} {:>6} {:>11.2e} {:>11.2e} {:>9} {:>12.3g}\n", row.value_strategy,
                       row.cases, row.max_abs, row.max_rel, row.max_ulp, row.bound_use);
  }
}

bool is_measured(const CalibratedDType& one) {
  return one.cases > 0 && !one.rows.empty() && one.state == OpState::Ran;
}

/// Returns whether the kernel seems right. A wrong kernel may pass a few cases by chance, for
/// example with zeros, and their errors are no measure.
bool is_mostly_right(const CalibratedDType& one) { return one.left_out <= one.cases; }

}  // namespace

std::string calibration_toml(const CalibrationReply& reply, const CalibrationPlace& place) {
  std::string lines;
  for (const CalibratedDType& one : reply.dtypes) {
    if (!is_measured(one) || !is_mostly_right(one)) continue;
    const CalibrationRow& worst = worst_row(one);
    lines +=
        fmt::format("{} = {}   # {}; worst with {}: {:.2e}, {} ulp, {:.3g} of the error bound\n",
                    name_of(one.dtype), tolerance_text(one), counted(one.cases, "case"),
                    worst.value_strategy, worst.max_abs, worst.max_ulp, worst.bound_use);
  }
  if (lines.empty()) return "";
  const std::string where =
      place.end_line == 0 ? "" : fmt::format(": below line {} of gpuemu.toml", place.end_line);
  return fmt::format(
      "# gpuemu calibrate {} --seed {} on {}: twice the largest error of correct runs\n"
      "[{}.tolerances]   # of {}{}\n{}",
      reply.op_name, reply.seed, one_line(reply.device), place.is_kernel ? "kernels" : "ops",
      reply.op_name, where, lines);
}

void print_calibration(const CalibrationReply& reply, const CalibrationPlace& place,
                       std::ostream& out) {
  for (const CalibratedDType& one : reply.dtypes) {
    if (!is_measured(one)) {
      out << fmt::format("{} {}: nothing measured{}{}\n", reply.op_name, name_of(one.dtype),
                         one.skipped_reason.empty() ? "" : ": ", one_line(one.skipped_reason));
    } else {
      out << fmt::format("{} {}: errors of {} of kernel {}\n", reply.op_name, name_of(one.dtype),
                         counted(one.cases, "correct case"), reply.kernel);
      print_rows(one, out);
    }
    if (one.left_out > 0) {
      out << fmt::format("  left out: {} that {} not pass; see `gpuemu failures`\n",
                         counted(one.left_out, "case"), one.left_out == 1 ? "does" : "do");
    }
    if (is_measured(one) && !is_mostly_right(one)) {
      out << "  no tolerance is proposed: most cases fail, and no tolerance mends a wrong kernel\n";
    }
  }
  const std::string toml = calibration_toml(reply, place);
  if (!toml.empty()) out << '\n' << toml;
}

}  // namespace gpuemu::cli
