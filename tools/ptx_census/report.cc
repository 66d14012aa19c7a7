#include "tools/ptx_census/report.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gpuemu::census {
namespace {

using Entry = std::pair<const std::string, Opcode>;

std::vector<const Entry*> by_count(const Census& census) {
  std::vector<const Entry*> order;
  for (const Entry& entry : census.opcodes) order.push_back(&entry);
  std::ranges::stable_sort(
      order, [](const Entry* a, const Entry* b) { return a->second.count > b->second.count; });
  return order;
}

std::string at(const Place& place) {
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

}  // namespace

std::string to_text(const Census& census, bool all) {
  std::string out;
  const auto order = by_count(census);
  if (all) {
    out += fmt::format("{:>10} {:>6}  {:<9} {}\n", "count", "files", "executed", "opcode");
    for (const Entry* entry : order) {
      const Opcode& opcode = entry->second;
      const char* executed = opcode.missing == 0              ? "yes"
                             : opcode.missing == opcode.count ? "no"
                                                              : "partly";
      out += fmt::format("{:>10} {:>6}  {:<9} {}\n", opcode.count, opcode.files, executed,
                         entry->first);
    }
  }
  for (const std::string& warning : census.warnings) out += "warning: " + warning + "\n";
  for (const std::string& refused : census.refused) out += "does not parse: " + refused + "\n";
  for (const Entry* entry : order) {
    const Opcode& opcode = entry->second;
    if (opcode.missing == 0) continue;
    out += fmt::format("missing: {} ({} of {}), first at {}: {}\n", entry->first, opcode.missing,
                       opcode.count, at(opcode.first_missing), opcode.first_missing.instruction);
  }
  return out +
         fmt::format(
             "{} files, {} instructions, {} opcodes with modifiers in {} families; {} missing, "
             "{} files do not parse\n",
             census.files, census.instructions, census.opcodes.size(), census.families(),
             census.missing(), census.refused.size());
}

std::string to_json(const Census& census) {
  nlohmann::ordered_json out;
  out["files"] = census.files;
  out["instructions"] = census.instructions;
  out["families"] = census.families();
  out["missing"] = census.missing();
  out["opcodes"] = nlohmann::ordered_json::array();
  for (const Entry* entry : by_count(census)) {
    const Opcode& opcode = entry->second;
    nlohmann::ordered_json row = {{"opcode", entry->first},
                                  {"family", opcode.family},
                                  {"count", opcode.count},
                                  {"files", opcode.files},
                                  {"missing", opcode.missing}};
    if (opcode.missing != 0) {
      row["first_missing"] = {{"file", opcode.first_missing.file},
                              {"line", opcode.first_missing.line},
                              {"column", opcode.first_missing.column},
                              {"instruction", opcode.first_missing.instruction}};
    }
    out["opcodes"].push_back(std::move(row));
  }
  out["refused"] = census.refused;
  out["warnings"] = census.warnings;
  // Texts may contain bytes that are not UTF-8 (names of files, comments in errors): replace them
  // instead of throwing.
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace gpuemu::census
