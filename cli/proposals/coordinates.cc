#include "cli/proposals/coordinates.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/host_launch.h"

namespace gpuemu::cli {
namespace {

/// Returns each text after "name <" or "name >=", up to the end of the comparison; those that take
/// something from a size, as the first of several branches may, come last.
std::vector<std::string> bounds_of(const std::string& body, const std::string& name) {
  static const RE2 kDifference(R"(\w+\s*-\s*\w+)");
  const std::string pattern =
      R"((?:^|[^\w.]))" + name + R"(\s*(?:\+\s*\w+\s*\)?\s*)?(?:<|>=)\s*([^;&|?{}<>=]+))";
  re2::StringPiece rest(body);
  std::string found;
  std::vector<std::string> all;
  while (RE2::FindAndConsume(&rest, pattern, &found)) {
    // Ends at the parenthesis around the comparison.
    int depth = 0;
    for (size_t at = 0; at < found.size(); ++at) {
      if (found[at] == '(') ++depth;
      if (found[at] == ')' && --depth < 0) {
        found.resize(at);
        break;
      }
    }
    if (!trimmed(found).empty()) all.push_back(trimmed(found));
  }
  std::ranges::stable_partition(
      all, [](const std::string& bound) { return !RE2::FullMatch(bound, kDifference); });
  return all;
}

/// Returns the factor by which all of `value`, computed from a grid coordinate, is multiplied.
int64_t elements_each(const std::string& value, const Definitions& known) {
  constexpr int64_t kElementsMax = 64;
  const auto parsed = parse_c(value, known);
  const Term term = parsed ? simplified(*parsed) : Term();
  if (term.text != "*" || term.parts.size() != 2) return 1;
  for (const size_t at : {size_t{0}, size_t{1}}) {
    const auto number = number_of(to_text(term.parts[at]), known);
    const std::vector<std::string> names = names_in(term.parts[1 - at]);
    const bool is_of_thread = std::ranges::any_of(
        names, [](const std::string& name) { return name.starts_with("threadIdx"); });
    if (number && is_of_thread && *number > 1 && *number <= kElementsMax) return *number;
  }
  return 1;
}

}  // namespace

std::string without_space(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (std::string_view(" \t\n\r").find(letter) == std::string_view::npos) {
      out += letter;
    }
  }
  return out;
}

bool has_warps(const std::string& text) {
  return std::ranges::any_of(std::array{"/32", "/warpSize", ">>5", "/WARP_SIZE"},
                             [&](const char* one) { return text.find(one) != std::string::npos; });
}

std::string with_plain_threads(std::string body) {
  for (const auto& [name, value] : declared_values(body)) {
    static const RE2 kThread(R"(\(?\s*(?:int\s*\)\s*)?threadIdx\.[xyz]\s*\)?)");
    if (!RE2::FullMatch(value, kThread)) continue;
    const size_t at = value.find("threadIdx");
    const std::string coordinate = value.substr(at, std::string_view("threadIdx.x").size());
    for (size_t place = find_word(body, name); place != std::string::npos;
         place = find_word(body, name, place + 1)) {
      const size_t next = body.find_first_not_of(" \t", place + name.size());
      const bool is_member = place > 0 && (body[place - 1] == '.' || body[place - 1] == '>');
      const bool is_declared =
          next != std::string::npos && body.substr(next, 2) != "==" && body[next] == '=';
      if (is_member || is_declared) continue;
      body.replace(place, name.size(), coordinate);
    }
  }
  return body;
}

std::string with_plain_blocks(std::string body) {
  for (const auto& [name, value] : declared_values(body)) {
    static const RE2 kBlock(R"(\(?\s*(?:int\s*\)\s*)?(blockIdx\.[xyz])\s*\)?)");
    std::string block;
    if (!RE2::FullMatch(value, kBlock, &block)) continue;
    const std::string threads = R"((blockDim\.[xyz]|[A-Z][A-Z_0-9]*|\d+))";
    RE2::GlobalReplace(&body, R"(\b)" + name + R"(\s*\*\s*)" + threads + R"(\s*\+)",
                       block + R"( * \1 +)");
    RE2::GlobalReplace(&body, R"(\b)" + threads + R"(\s*\*\s*)" + name + R"(\s*\+)",
                       block + R"( * \1 +)");
  }
  return body;
}

std::optional<Coordinate> coordinate_of(
    const std::string& body, char axis, const Definitions& known,
    const std::function<std::optional<std::string>(const std::string&)>& in_sizes) {
  const std::string block = fmt::format("blockIdx.{}", axis);
  const std::string thread = fmt::format("threadIdx.{}", axis);
  if (body.find(block) == std::string::npos) return std::nullopt;
  static const RE2 kDefinition(R"((\w+)\s*=\s*([^;,]*(?:\([^;]*?\)[^;,]*)*)[;,])");
  Coordinate first;
  re2::StringPiece rest(body);
  std::string name, value;
  while (RE2::FindAndConsume(&rest, kDefinition, &name, &value)) {
    if (value.find(block) == std::string::npos) continue;
    Coordinate one;
    one.uses_thread = value.find(thread) != std::string::npos;
    one.is_warp = has_warps(without_space(value));
    one.each = elements_each(value, known);
    first.uses_thread = first.uses_thread || one.uses_thread;
    for (const std::string& bound : bounds_of(body, name)) {
      if (const auto text = in_sizes(bound)) {
        one.bound = *text;
        return one;
      }
    }
    // A warp's number that is computed from the thread's: "row = thread / 32".
    for (const auto& [warp, quotient] : declared_values(body)) {
      const bool is_of_threads = find_word(quotient, name) != std::string::npos;
      if (!one.uses_thread || !is_of_threads || !has_warps(without_space(quotient))) continue;
      for (const std::string& bound : bounds_of(body, warp)) {
        const auto text = in_sizes(bound);
        if (!text) continue;
        one.is_warp = true;
        one.bound = *text;
        return one;
      }
    }
  }
  return first;
}

std::optional<RowThreads> threads_of_row(const std::string& body,
                                         const std::vector<std::string>& sizes) {
  static const RE2 kTimes(R"((?:threadIdx\.x\*(\d+)|(\d+)\*threadIdx\.x))");
  const std::string plain = with_plain_threads(body);
  const std::string text = without_space(plain);
  // What is added to a row's first element, and the elements that a thread takes.
  std::map<std::string, int64_t> places = {{R"(threadIdx\.x)", 1}};
  std::string after, before;
  re2::StringPiece rest(text);
  while (RE2::FindAndConsume(&rest, kTimes, &after, &before)) {
    const std::string& number = after.empty() ? before : after;
    const int64_t each = std::strtoll(number.c_str(), nullptr, 10);
    places.emplace((after.empty() ? number + R"(\*threadIdx\.x)" : R"(threadIdx\.x\*)" + number),
                   each);
    for (const auto& [name, value] : declared_values(plain)) {
      std::string one, other;
      if (RE2::FullMatch(without_space(value), kTimes, &one, &other) && one + other == number) {
        places.emplace(name, each);
      }
    }
  }
  for (const std::string& size : sizes) {
    for (const auto& [place, each] : places) {
      const std::string added = R"(\*)" + RE2::QuoteMeta(size) + R"(\+\(?)" + place + R"(\b)";
      const bool is_last = each > 1 || !RE2::PartialMatch(text, added + R"(\*)");
      if (each > 0 && is_last && RE2::PartialMatch(text, added)) return RowThreads{size, each};
    }
  }
  return std::nullopt;
}

}  // namespace gpuemu::cli
