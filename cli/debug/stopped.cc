#include "cli/debug/stopped.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/debug/machine_text.h"
#include "cli/report/text.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

constexpr size_t kSourceBytesMax = size_t{4} << 20;

std::string line_of(const std::string& source, uint64_t line) {
  std::istringstream lines(source);
  std::string text;
  for (uint64_t number = 0; number < line; ++number) {
    if (!std::getline(lines, text)) return "";
  }
  return one_line(text);
}

/// Prints the results of the instruction that the thread executed last.
void print_results(DebugContext& context) {
  const auto last = context.stepping->stepped();
  if (!last) return;
  const std::vector<DebugRegister> registers = focused_registers(context);
  for (const std::string& name : results_of(context.stepping->instruction(*last).text)) {
    const auto found = std::ranges::find(registers, name, &DebugRegister::name);
    if (found != registers.end()) {
      context.out << fmt::format("  {} = {}\n", name,
                                 register_text(*found, context.stepping->focus().lane));
    }
  }
}

}  // namespace

Result<const DebugView*> stopped_view(const DebugContext& context) {
  if (context.stepping->view() != nullptr) return context.stepping->view();
  return error(ErrorCode::InvalidArgument,
               "no launch is stopped: `start` stops at the first instruction, `break` and `run` "
               "where you want it");
}

std::vector<DebugRegister> focused_registers(const DebugContext& context) {
  return context.stepping->view()->registers(context.stepping->focus().warp);
}

std::string source_of(const DebugContext& context, const std::string& file) {
  for (const auto& [name, text] : context.loaded->sources) {
    const std::string base = std::filesystem::path(name).filename().string();
    if (file == name || is_file(file, name) || is_file(file, base)) return text;
  }
  const auto read = read_file(file, kSourceBytesMax);
  return read ? *read : "";
}

void print_stop(DebugContext& context, const std::vector<std::string>& why) {
  const Stepping& stepping = *context.stepping;
  const Focus& focus = stepping.focus();
  const DebugView& view = *stepping.view();
  const DebugInstruction& at = stepping.instruction(view.place());
  print_results(context);
  for (const std::string& reason : why) {
    if (!reason.empty()) context.out << reason << '\n';
  }
  context.out << one_line(fmt::format("stopped at {} in thread {} of block {}, with lanes {}",
                                      place_text(at),
                                      index_text(view.thread_index(focus.warp, focus.lane)),
                                      index_text(focus.block_index), lanes_text(view.lanes())))
              << '\n';
  if (at.line != 0) {
    const std::string text = line_of(source_of(context, at.file), at.line);
    if (!text.empty()) context.out << fmt::format("{:>6}  {}\n", at.line, text);
  }
  context.out << fmt::format("   ptx {}: {}\n", at.ptx_line, one_line(at.text));
}

}  // namespace gpuemu::cli
