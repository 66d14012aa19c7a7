#include "cli/cuda_text/host_fills.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/cpp_text.h"
#include "common/numeric/dtype.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

bool is_floating(const std::string& dtype) {
  return dtype == "{dtype}" || dtype.find("float") != std::string::npos;
}

bool is_unsigned(const std::string& dtype) { return dtype.starts_with("uint"); }

/// Returns the arguments of the call whose name begins at `at`; empty if no list follows.
std::vector<std::string> arguments_at(std::string_view text, size_t at) {
  while (at < text.size() && (is_word(text[at]) || text[at] == ':')) ++at;
  const size_t open = text.find_first_not_of(" \t\r\n", at);
  if (open == text.npos || text[open] != '(') return {};
  const size_t behind = behind_bracket(text, open);
  if (behind == text.npos) return {};
  return split_list(text.substr(open + 1, behind - open - 2));
}

/// A fill and its position, so that the last one of a variable counts.
struct Found {
  size_t at = 0;
  std::string variable;
  HostFill fill;
};

/// Finds cudaMemset(pointer, byte, count) and similar calls.
void find_memsets(std::string_view text, std::vector<Found>& found) {
  static const RE2 kCall(
      R"(\b((?:cuda|hip)Memset(?:2D)?(?:Async)?|cuMemsetD(?:8|16|32)(?:Async)?)\s*\()");
  re2::StringPiece rest(text.data(), text.size()), name;
  while (RE2::FindAndConsume(&rest, kCall, &name)) {
    const auto at = static_cast<size_t>(name.data() - text.data());
    const std::vector<std::string> args = arguments_at(text, at);
    const bool has_pitch = std::string_view(name).find("2D") != std::string_view::npos;
    const size_t value = has_pitch ? 2 : 1;
    if (args.size() <= value) continue;
    const bool is_bytes = std::string_view(name).find("D16") == std::string_view::npos &&
                          std::string_view(name).find("D32") == std::string_view::npos;
    found.push_back({at, base_variable(args[0]), {args[value], is_bytes}});
  }
}

/// Finds auto out = torch::zeros({n}), out.zero_(), out.fill_(x), thrust::fill(a.begin(), a.end(),
/// x).
void find_tensors(std::string_view text, std::vector<Found>& found) {
  static const RE2 kMade(R"(\b(\w+)\s*=\s*(?:\w+\s*\.\s*new_|(?:torch|at)::))"
                         R"((zeros|zeros_like|ones|ones_like|full|full_like)\s*\()");
  static const RE2 kChanged(R"(\b(\w+)\s*\.\s*(zero_|fill_)\s*\()");
  static const RE2 kThrust(R"(\bthrust::(device_vector\s*<[^;>]*>\s*(\w+)\s*\(|fill(?:_n)?\s*\())");
  re2::StringPiece rest(text.data(), text.size()), variable, call;
  while (RE2::FindAndConsume(&rest, kMade, &variable, &call)) {
    const auto at = static_cast<size_t>(call.data() - text.data());
    const std::vector<std::string> args = arguments_at(text, at);
    const bool is_full = call.starts_with("full");
    if (is_full && args.size() < 2) continue;
    const std::string value = is_full ? args[1] : call.starts_with("ones") ? "1" : "0";
    found.push_back({at, std::string(variable), {value, false}});
  }
  rest = re2::StringPiece(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kChanged, &variable, &call)) {
    const auto at = static_cast<size_t>(call.data() - text.data());
    const std::vector<std::string> args = arguments_at(text, at);
    if (call == "fill_" && args.empty()) continue;
    found.push_back({at, std::string(variable), {call == "fill_" ? args[0] : "0", false}});
  }
  rest = re2::StringPiece(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kThrust, &call, &variable)) {
    const auto at = static_cast<size_t>(call.data() - text.data());
    if (call.starts_with("fill")) {
      const std::vector<std::string> args = arguments_at(text, at);
      if (args.size() == 3) found.push_back({at, base_variable(args[0]), {args[2], false}});
      continue;
    }
    const std::vector<std::string> args =
        arguments_at(text, static_cast<size_t>(variable.data() - text.data()));
    // A single argument may be another vector, whose elements are copied.
    if (args.size() == 2) found.push_back({at, std::string(variable), {args[1], false}});
  }
}

/// Returns the number that the host code means; nothing if that is unknown.
std::optional<double> real_of(std::string text) {
  static const RE2 kInfinity(
      R"((?:INFINITY|HUGE_VALF?|CUDART_INF(?:_F)?|(?:std::)?numeric_limits<[^>]*>::infinity\(\)))");
  static const RE2 kLargest(R"((?:FLT_MAX|(?:std::)?numeric_limits<float>::max\(\)))");
  static const RE2 kLowest(R"((?:std::)?numeric_limits<float>::lowest\(\))");
  text = trimmed(text);
  double sign = 1;
  if (text.starts_with("-")) {
    sign = -1;
    text = trimmed(std::string_view(text).substr(1));
  }
  if (RE2::FullMatch(text, kInfinity)) return sign * std::numeric_limits<double>::infinity();
  if (RE2::FullMatch(text, kLargest)) return sign * std::numeric_limits<float>::max();
  if (RE2::FullMatch(text, kLowest)) return sign * std::numeric_limits<float>::lowest();
  if (text.ends_with("f") || text.ends_with("F")) text.pop_back();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return sign * value;
}

std::string integer_text(int64_t value, const std::string& dtype) {
  const auto known = dtype_from_alias(dtype);
  const bool is_narrow =
      known && !is_float(*known) && *known != DType::Bool && byte_size(*known) < sizeof value;
  if (is_narrow && value > 0) {  // 0xffffffff is -1 of an int.
    std::array<std::byte, sizeof value> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    value = read_as_int64(*known, bytes.data());
  }
  // With all bits set, programs do not mean a number.
  const bool all_bits = (dtype == "uint32" && value == 0xffffffff) || value == -1;
  return all_bits && is_unsigned(dtype) ? "-1" : std::to_string(value);
}

std::optional<std::string> element_of_bytes(int64_t byte, const std::string& dtype) {
  if (byte == 0) return "0";
  const auto known = dtype_from_alias(dtype);
  if (!known || byte < -128 || byte > 255) return std::nullopt;
  std::array<std::byte, 8> bytes;
  bytes.fill(static_cast<std::byte>(byte & 0xff));
  if (!is_float(*known)) return integer_text(read_as_int64(*known, bytes.data()), dtype);
  const double value = read_as_double(*known, bytes.data());
  return std::isnan(value) ? std::string("nan") : fmt::format("{}", value);
}

/// Returns whether the atomic at `name` accumulates, so that untouched elements keep their value
/// and zero is the right start.
bool is_sum(std::string_view name, const std::string& dtype) {
  constexpr auto kSums = std::to_array<std::string_view>(
      {"atomicAdd", "atomicSub", "atomicOr", "atomicXor", "atomicInc", "atomicAdd_block",
       "atomicAdd_system", "gpuAtomicAdd", "gpuAtomicAddNoReturn"});
  if (name == "atomicMax") return is_unsigned(dtype);
  return std::ranges::find(kSums, name) != kSums.end();
}

}  // namespace

std::string base_variable(std::string_view argument) {
  static const RE2 kCast(R"((?:reinterpret|static|const)_cast\s*<[^>]*>|thrust::raw_pointer_cast)");
  static const RE2 kTypeCast(R"(\(\s*(?:const\s+|unsigned\s+|struct\s+)*[\w:]+\s*\**\s*\*\s*\))");
  static const RE2 kVariable(R"(([A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*))");
  static const RE2 kAccess(
      R"((?:\.|->)(?:data_ptr|mutable_data_ptr|const_data_ptr|data|begin|end|get)$)");
  std::string text(argument);
  RE2::GlobalReplace(&text, kCast, "");
  RE2::GlobalReplace(&text, kTypeCast, "");
  std::string variable;
  if (!RE2::PartialMatch(text, kVariable, &variable)) return {};
  RE2::Replace(&variable, kAccess, "");
  return variable;
}

std::map<std::string, HostFill> scan_fills(std::string_view text) {
  std::vector<Found> found;
  find_memsets(text, found);
  find_tensors(text, found);
  std::ranges::stable_sort(found, {}, &Found::at);
  std::map<std::string, HostFill> fills;
  for (Found& one : found) {
    if (!one.variable.empty()) fills[one.variable] = std::move(one.fill);
  }
  return fills;
}

std::optional<std::string> filled_with(const HostFill& fill, const std::string& dtype,
                                       const Definitions& definitions) {
  const auto whole = number_of(fill.value, definitions);
  if (fill.is_bytes) return whole ? element_of_bytes(*whole, dtype) : std::nullopt;
  if (whole) return integer_text(*whole, dtype);
  const auto real = is_floating(dtype) ? real_of(fill.value) : std::nullopt;
  if (!real) return std::nullopt;
  return fmt::format("{}", *real);  // Rounding FLT_MAX to nine digits would exceed it.
}

std::optional<std::string> begins_with(const std::string& body, const std::string& tensor,
                                       const std::string& dtype, const Definitions& definitions) {
  static const RE2 kAtomic(R"(((?:atomic|gpuAtomic)\w*)\s*\(\s*&?\s*\(?\s*$)");
  static const RE2 kStored(R"(^(?:\s*\[[^\[\]]*\])?\s*=\s*([^=;][^;]*);)");
  std::optional<std::string> empty;  // The value that compare-and-swap treats as empty, or that is
                                     // restored.
  bool sums = false, swaps = false;
  for (size_t at = find_word(body, tensor); at != std::string::npos;
       at = find_word(body, tensor, at + 1)) {
    const std::string before = body.substr(0, at);
    std::string name, stored;
    if (RE2::PartialMatch(before, kAtomic, &name)) {
      if (is_sum(name, dtype)) {
        sums = true;
        continue;
      }
      if (name == "atomicExch") continue;
      const std::vector<std::string> args = arguments_at(body, before.rfind(name));
      if (name != "atomicCAS" || args.size() != 3) return std::nullopt;
      const auto compared = number_of(args[1], definitions);
      if (!compared) return std::nullopt;
      empty = integer_text(*compared, dtype);
      swaps = true;
      continue;
    }
    if (!RE2::PartialMatch(body.substr(at + tensor.size()), kStored, &stored)) return std::nullopt;
    const auto value = number_of(stored, definitions);
    if (!value) return std::nullopt;
    if (!empty) empty = integer_text(*value, dtype);
  }
  if (!sums && !swaps) return std::nullopt;
  return empty ? empty : "0";
}

}  // namespace gpuemu::cli
