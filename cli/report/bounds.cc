#include "cli/report/bounds.h"

#include <algorithm>
#include <filesystem>

#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

std::string place_of(const ProvedAccess& access) {
  if (access.file.empty() || access.line == 0) return fmt::format("PTX line {}", access.ptx_line);
  return fmt::format("{}:{}", std::filesystem::path(access.file).filename().string(), access.line);
}

void print_access(const ProvedAccess& access, std::ostream& out) {
  const std::string tensor = access.tensor.empty() ? "" : " '" + one_line(access.tensor) + "'";
  out << fmt::format("    {:<10} {} {}{} at {}", access.proved ? "proved" : "not proved",
                     name_of(access.kind), access.space, tensor, one_line(place_of(access)));
  if (access.proved && !access.offset.empty()) {
    out << fmt::format(": byte {} of {}", one_line(access.offset), one_line(access.extent));
  }
  if (!access.proved) out << ": " << one_line(access.reason);
  out << '\n';
}

void print_launch(const LaunchBounds& launch, bool all, std::ostream& out) {
  const auto proved = std::ranges::count_if(launch.accesses, &ProvedAccess::proved);
  const std::string variant = launch.kernel == launch.op_name ? "" : " " + launch.kernel;
  out << fmt::format("{}{} {} {}: ", one_line(launch.op_name), one_line(variant),
                     name_of(launch.dtype), one_line(launch.entry));
  if (!launch.error.empty()) {
    out << "not looked at: " << one_line(launch.error) << '\n';
    return;
  }
  out << fmt::format("{} of {} accesses proved\n", proved, launch.accesses.size());
  for (const ProvedAccess& access : launch.accesses) {
    if (all || !access.proved) print_access(access, out);
  }
}

}  // namespace

void print_bounds(const BoundsReportReply& report, bool all, std::ostream& out) {
  for (const LaunchBounds& launch : report.launches) print_launch(launch, all, out);
  out << fmt::format("{} of {} accesses stay inside for all data and sizes", report.proved,
                     report.total);
  if (report.total > 0) {
    out << fmt::format(" ({:.1f} %)", 100.0 * static_cast<double>(report.proved) /
                                          static_cast<double>(report.total));
  }
  out << "; of the others that is not known\n";
}

}  // namespace gpuemu::cli
