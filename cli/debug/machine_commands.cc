// Commands that show a stopped launch: threads, registers, memory, source.
#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/machine_text.h"
#include "cli/debug/stopped.h"
#include "cli/debug/tensor_text.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kLinesAround = 5;
constexpr size_t kLanesPerLine = 8;

/// The arguments "[SLICE] as TYPE" after a memory reference.
struct MemoryArguments {
  std::string name;
  Slice slice;
  std::string type;
};

Result<MemoryArguments> parse_memory(const Words& words, const char* usage) {
  MemoryArguments given;
  size_t at = 0;
  if (at < words.size() && words[at] != "as") {
    const size_t bracket = std::min(words[at].find('['), words[at].size());
    given.name = words[at].substr(0, bracket);
    if (bracket < words[at].size()) {
      given.slice = GPUEMU_TRY(parse_slice(
          std::string_view(words[at]).substr(bracket + 1, words[at].size() - bracket - 2)));
    }
    ++at;
  }
  if (at == words.size()) return given;
  if (words[at] != "as" || at + 2 != words.size()) {
    return wrong_usage(usage, fmt::format("'{}': expected `as` and a type", words[at]));
  }
  given.type = words[at + 1];
  return given;
}

/// Prints bytes as elements of a type; an incomplete last element is not shown.
Status print_bytes(const DebugContext& context, std::span<const std::byte> bytes,
                   const MemoryArguments& given, const std::string& declared) {
  std::string type = given.type.empty() ? declared : given.type;
  if (type.empty() || type == "hex" || type[0] == 'b') type = type == "bf16" ? type : "u32";
  if (type.size() > 1 && type[0] == 's') type[0] = 'i';
  const auto dtype = dtype_from_alias(type);
  if (!dtype) {
    return error(ErrorCode::InvalidArgument, "unknown type '{}': expected hex or a dtype, as f32",
                 type);
  }
  const auto count = static_cast<int64_t>(bytes.size() / byte_size(*dtype));
  Tensor tensor = make_tensor(*dtype, {count});
  std::copy_n(bytes.begin(), tensor.data.size(), tensor.data.begin());
  const Selection selection = GPUEMU_TRY(resolve(given.slice, tensor.shape));
  const bool hex =
      given.type == "hex" || (given.type.empty() && type == "u32" && declared != "u32");
  context.out << tensor_text(tensor, selection, {.hex = hex}) << '\n';
  return ok_status();
}

const DebugVariable* find_variable(const std::vector<DebugVariable>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &DebugVariable::name);
  return found == all.end() ? nullptr : &*found;
}

Result<const DebugRegister*> find_register(const std::vector<DebugRegister>& all,
                                           const std::string& name) {
  const std::string wanted = name.starts_with('%') ? name : fmt::format("%{}", name);
  const auto found = std::ranges::find(all, wanted, &DebugRegister::name);
  if (found != all.end()) return &*found;
  std::vector<std::string> names;
  for (const DebugRegister& one : all) names.push_back(one.name);
  return error(ErrorCode::InvalidArgument, "no register '{}'; did you mean one of: {}", wanted,
               fmt::join(nearest_few(wanted, names, 3), ", "));
}

std::string group_text(const Stepping& stepping, const DebugGroup& group) {
  const DebugInstruction& at = stepping.instruction(group.place);
  return one_line(
      fmt::format("lanes {} at {}: {}", lanes_text(group.lanes), place_text(at), at.text));
}

std::vector<uint64_t> lines_with_code(const DebugProgram& program, const std::string& file) {
  std::vector<uint64_t> lines;
  for (const DebugFunction& function : program.functions) {
    for (const DebugInstruction& at : function.body) {
      if (at.line != 0 && at.file == file) lines.push_back(at.line);
    }
  }
  return lines;
}

}  // namespace

Status do_where(DebugContext& context, const Words&) {
  GPUEMU_TRY(stopped_view(context));
  print_stop(context, {});
  const DebugView& view = *context.stepping->view();
  const std::string& function = context.stepping->program().functions[view.place().function].name;
  context.out << fmt::format("   in {}, {} call{} deep; launch {} of {}\n", one_line(function),
                             view.depth() - 1, view.depth() == 2 ? "" : "s", context.launch + 1,
                             context.loaded->launches.size());
  return ok_status();
}

Status do_source(DebugContext& context, const Words& words) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  const DebugInstruction& at = context.stepping->instruction(view.place());
  if (at.line == 0) {
    return error(ErrorCode::InvalidArgument,
                 "the PTX names no source lines here: compile with -lineinfo");
  }
  uint64_t line = at.line;
  if (!words.empty()) line = GPUEMU_TRY(parse_count(words[0], "line"));
  const std::string source = source_of(context, at.file);
  if (source.empty()) {
    return error(ErrorCode::InvalidArgument, "'{}' cannot be read", one_line(at.file));
  }
  context.out << at.file << '\n'
              << source_text(source, line, kLinesAround,
                             lines_with_code(context.stepping->program(), at.file));
  return ok_status();
}

Status do_threads(DebugContext& context, const Words&) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  context.out << fmt::format("block {}\n", index_text(view.block_index()));
  for (const DebugWarp& warp : view.warps()) {
    const bool current = warp.index == view.warp();
    context.out << fmt::format("{}warp {}, threads from {}: {}\n", current ? '>' : ' ', warp.index,
                               index_text(view.thread_index(warp.index, 0)), warp.state);
    for (const DebugGroup& group : warp.groups) {
      context.out << "    " << group_text(*context.stepping, group) << '\n';
    }
  }
  return ok_status();
}

Status do_thread(DebugContext& context, const Words& words) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  if (!words.empty()) {
    const Dim3 wanted = GPUEMU_TRY(parse_index3(words[0], "thread"));
    GPUEMU_TRY(context.stepping->focus_on(wanted));
  }
  const Focus& focus = context.stepping->focus();
  const auto place = context.stepping->focused_place();
  context.out << fmt::format(
      "thread {} of block {}, lane {} of warp {}: {}\n",
      index_text(view.thread_index(focus.warp, focus.lane)), index_text(focus.block_index),
      focus.lane, focus.warp,
      place ? group_text(*context.stepping, {1U << focus.lane, *place}) : "it has ended");
  return ok_status();
}

Status do_registers(DebugContext& context, const Words& words) {
  GPUEMU_TRY(stopped_view(context));
  const std::vector<DebugRegister> all = focused_registers(context);
  const uint32_t lane = context.stepping->focus().lane;
  const auto print = [&](const DebugRegister& one) {
    context.out << fmt::format("{:<8} {:<6} {}\n", one.name, one.type, register_text(one, lane));
  };
  if (words.empty()) {
    // Registers that have not been written to are not shown.
    for (const DebugRegister& one : all) {
      if ((one.undefined >> lane & 1) == 0) print(one);
    }
    if (all.empty()) context.out << "the warp has ended\n";
    return ok_status();
  }
  for (const std::string& word : words) print(*GPUEMU_TRY(find_register(all, word)));
  return ok_status();
}

/// Implements `print %r5 as f32`, for the focused thread.
Status print_register(DebugContext& context, const Words& words) {
  GPUEMU_TRY(stopped_view(context));
  const std::vector<DebugRegister> all = focused_registers(context);
  const DebugRegister& one = *GPUEMU_TRY(find_register(all, words[0]));
  const uint32_t lane = context.stepping->focus().lane;
  const std::string type = words.size() == 3 ? words[2] : one.type;
  const bool undefined = (one.undefined >> lane & 1) != 0;
  context.out << fmt::format("{} = {}\n", one.name,
                             undefined ? register_text(one, lane)
                                       : GPUEMU_TRY(bits_text(one.lanes[lane], one.bytes, type)));
  return ok_status();
}

Status do_lanes(DebugContext& context, const Words& words) {
  constexpr const char* kUsage = "lanes REGISTER [as TYPE]";
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  if (words.empty()) return wrong_usage(kUsage, "the register is missing");
  if (words.size() != 1 && (words.size() != 3 || words[1] != "as")) {
    return wrong_usage(kUsage, fmt::format("'{}': expected `as` and a type", words[1]));
  }
  const std::vector<DebugRegister> all = focused_registers(context);
  const DebugRegister& one = *GPUEMU_TRY(find_register(all, words[0]));
  const std::string type = words.size() == 3 ? words[2] : one.type;
  const uint32_t active = context.stepping->focus().warp == view.warp() ? view.lanes() : 0;
  context.out << fmt::format("{} of warp {} as {}; lanes that execute now: {}\n", one.name,
                             context.stepping->focus().warp, type,
                             active == 0 ? "none" : lanes_text(active));
  for (uint32_t lane = 0; lane < kDebugLanes; ++lane) {
    const bool undefined = (one.undefined >> lane & 1) != 0;
    const std::string text =
        undefined ? "-" : GPUEMU_TRY(bits_text(one.lanes[lane], one.bytes, type));
    context.out << fmt::format("{}{:>2}: {:<14}", lane % kLanesPerLine == 0 ? "  " : " ", lane,
                               text)
                << (lane % kLanesPerLine == kLanesPerLine - 1 ? "\n" : "");
  }
  return ok_status();
}

Status do_shared(DebugContext& context, const Words& words) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  const std::vector<DebugVariable> variables = view.shared_variables();
  const std::span<const std::byte> bytes = view.shared();
  const MemoryArguments given =
      GPUEMU_TRY(parse_memory(words, "shared [NAME][SLICE] [as hex|DTYPE]"));
  if (words.empty()) {
    context.out << fmt::format("{} bytes of block {}\n", bytes.size(),
                               index_text(view.block_index()));
    for (const DebugVariable& one : variables) {
      context.out << fmt::format("  {} {} bytes at {}{}\n", one_line(one.name), one.bytes,
                                 one.offset,
                                 one.type.empty() ? "" : fmt::format(", of {}", one.type));
    }
    return ok_status();
  }
  if (given.name.empty()) return print_bytes(context, bytes, given, "");
  const DebugVariable* found = find_variable(variables, given.name);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const DebugVariable& one : variables) names.push_back(one.name);
    return error(ErrorCode::InvalidArgument, "no variable '{}' in shared memory; there are: {}",
                 given.name, fmt::join(names, ", "));
  }
  return print_bytes(context, bytes.subspan(found->offset, found->bytes), given, found->type);
}

Status do_local(DebugContext& context, const Words& words) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  const MemoryArguments given = GPUEMU_TRY(parse_memory(words, "local [SLICE] [as hex|DTYPE]"));
  const Focus& focus = context.stepping->focus();
  const std::span<const std::byte> bytes = view.local(focus.warp, focus.lane);
  if (bytes.empty()) return context.out << "the thread has no local memory\n", ok_status();
  return print_bytes(context, bytes, given, "");
}

Status do_params(DebugContext& context, const Words&) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  const std::vector<DebugVariable> variables = view.param_variables();
  const std::vector<ExportedArg>& args = context.loaded->launches[context.launch].args;
  for (size_t i = 0; i < variables.size(); ++i) {
    const DebugVariable& one = variables[i];
    uint64_t bits = 0;
    std::memcpy(&bits, view.params().data() + one.offset, std::min<uint64_t>(one.bytes, 8));
    const bool pointer = i < args.size() && !args[i].tensor.empty();
    const auto typed = bits_text(bits, static_cast<uint32_t>(std::min<uint64_t>(one.bytes, 8)),
                                 pointer ? "hex" : one.type);
    context.out << one_line(fmt::format("{} = {}{}", one.name,
                                        typed ? *typed : fmt::format("{} bytes", one.bytes),
                                        pointer           ? ", the tensor " + args[i].tensor
                                        : i < args.size() ? ", from " + args[i].text
                                                          : ""))
                << '\n';
  }
  return ok_status();
}

}  // namespace gpuemu::cli
