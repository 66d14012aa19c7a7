#include "cli/report/kernel_diff.h"

#include <filesystem>

#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

std::string line_of(uint32_t ptx_line, const std::string& source) {
  if (ptx_line == 0) return "-";
  const std::string file = std::filesystem::path(source).filename().string();
  return file.empty() ? fmt::format("PTX {}", ptx_line)
                      : fmt::format("{} (PTX {})", file, ptx_line);
}

void print_entry(const EntryDifference& entry, std::ostream& out) {
  out << fmt::format("[{}] {}\n", name_of(entry.verdict), one_line(entry.entry));
  std::string counts;
  for (const auto& [opcode, change] : entry.opcodes) {
    counts += fmt::format("{}{} {:+}", counts.empty() ? "" : ", ", opcode, change);
  }
  if (!counts.empty()) out << "    opcodes: " << one_line(counts) << '\n';
  for (const KernelDifference& one : entry.differences) {
    out << fmt::format("    {:<10} {}", name_of(one.kind), one_line(one.text));
    if (one.before_line > 0 || one.after_line > 0) {
      out << fmt::format("  [{} | {}]", one_line(line_of(one.before_line, one.before_source)),
                         one_line(line_of(one.after_line, one.after_source)));
    }
    out << '\n';
  }
  if (entry.left_out > 0) out << fmt::format("    and {} more\n", entry.left_out);
}

}  // namespace

void print_kernel_comparison(const KernelComparisonReply& comparison, std::ostream& out) {
  size_t same = 0;
  for (const EntryDifference& entry : comparison.entries) {
    if (entry.verdict == EntryVerdict::None) {
      ++same;
    } else {
      print_entry(entry, out);
    }
  }
  out << fmt::format(
      "{} functions compared, {} the same: {}\n", comparison.entries.size(), same,
      comparison.verdict == EntryVerdict::None ? "no difference" : name_of(comparison.verdict));
}

}  // namespace gpuemu::cli
