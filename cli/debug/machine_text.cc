#include "cli/debug/machine_text.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "cli/debug/case_run.h"
#include "cli/debug/tensor_text.h"
#include "cli/report/text.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::cli {
namespace {

/// Returns the dtype of a PTX type; nothing if there is none, as for "b32" and "pred".
std::optional<DType> dtype_of(const std::string& type) {
  if (type.size() > 1 && type[0] == 's') {
    return dtype_from_alias(fmt::format("i{}", type.substr(1)));
  }
  return dtype_from_alias(type);
}

std::string hex(uint64_t bits, uint32_t bytes) {
  return fmt::format("{:#0{}x}", bits, 2 + 2 * bytes);
}

std::string dtype_text(uint64_t bits, DType dtype) {
  std::byte element[8];
  std::memcpy(element, &bits, sizeof bits);
  return element_text(dtype, element);
}

}  // namespace

Result<std::string> bits_text(uint64_t bits, uint32_t bytes, const std::string& type) {
  if (type == "pred" || bytes == 0) return std::string(bits != 0 ? "true" : "false");
  if (type == "hex" || (type.size() > 1 && type[0] == 'b' && type[1] != 'f' && type != "bool")) {
    return hex(bits, bytes);
  }
  const bool pair = type.ends_with("x2");
  const auto dtype = dtype_of(pair ? type.substr(0, type.size() - 2) : type);
  if (!dtype) {
    return error(ErrorCode::InvalidArgument,
                 "unknown type '{}': expected hex, a dtype or a type of PTX, as f32 or s64", type);
  }
  const size_t size = byte_size(*dtype) * (pair ? 2 : 1);
  if (size > bytes) {
    return error(ErrorCode::InvalidArgument, "as {}: that has {} bytes, a value here {}", type,
                 size, bytes);
  }
  if (!pair) return dtype_text(bits, *dtype);
  return fmt::format("({}, {})", dtype_text(bits, *dtype), dtype_text(bits >> (4 * size), *dtype));
}

std::string register_text(const DebugRegister& of, uint32_t lane) {
  if ((of.undefined >> lane & 1) != 0) return "(nothing written)";
  const auto text = bits_text(of.lanes[lane], of.bytes, of.type);
  return text ? *text : hex(of.lanes[lane], of.bytes);
}

std::string store_text(const Watchpoint& watch, const DebugStore& store,
                       const DebugProgram& program) {
  const auto value = [&](const std::vector<std::byte>& bytes) {
    if (bytes.size() < byte_size(watch.dtype)) return std::string("?");
    const bool poison = is_unwritten(watch.dtype, bytes.data());
    return poison ? "never written" : element_text(watch.dtype, bytes.data());
  };
  const DebugInstruction& by =
      program.functions[store.place.function].body[store.place.instruction];
  const std::string thread =
      store.thread
          ? fmt::format("thread {} of block {}", index_text(*store.thread), index_text(store.block))
          : fmt::format("block {}", index_text(store.block));
  return one_line(fmt::format("watchpoint {}: {} = {}, was {}; stored by {}, {} at {}",
                              watch.number, watch.name, value(store.after), value(store.before),
                              thread, by.text, place_text(by)));
}

std::vector<std::string> results_of(const std::string& instruction) {
  std::string_view rest = instruction;
  if (rest.starts_with('@')) rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  const size_t space = rest.find(' ');
  const std::string_view name = rest.substr(0, space);
  const ptx::Opcode opcode = ptx::opcode_of(name.substr(0, name.find('.')));
  const bool reduces = name.find(".red.") != std::string_view::npos;  // bar.red has a result.
  if (space == std::string_view::npos) return {};
  if (ptx::info(opcode).traits.has(ptx::Trait::NoResult) && !reduces) return {};
  rest.remove_prefix(space + 1);
  const size_t end = rest.starts_with('{') ? rest.find('}') : rest.find(',');
  std::vector<std::string> names;
  std::string word;
  for (const char letter : rest.substr(0, end)) {
    const bool part = letter == '%' || letter == '_' || letter == '$' || letter == '.' ||
                      (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                      (letter >= 'A' && letter <= 'Z');
    if (part) word += letter;
    if (part || word.empty()) continue;
    names.push_back(std::move(word));
    word.clear();
  }
  if (!word.empty()) names.push_back(word);
  return names;
}

std::string lanes_text(uint32_t lanes) {
  std::string text;
  for (uint32_t lane = 0; lane < kDebugLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    uint32_t last = lane;
    while (last + 1 < kDebugLanes && (lanes >> (last + 1) & 1) != 0) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", lane);
    if (last != lane) text += fmt::format("-{}", last);
    lane = last;
  }
  return text;
}

std::string source_text(const std::string& source, uint64_t line, uint64_t around,
                        const std::vector<uint64_t>& has_code) {
  std::istringstream lines(source);
  std::string text, one;
  for (uint64_t number = 1; std::getline(lines, one); ++number) {
    if (number + around < line || number > line + around) continue;
    const bool code = std::ranges::find(has_code, number) != has_code.end();
    text += fmt::format("{}{:>5}{} {}\n", number == line ? '>' : ' ', number, code ? '*' : ' ',
                        one_line(one));
  }
  return text;
}

}  // namespace gpuemu::cli
