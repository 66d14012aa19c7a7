#include "cli/proposals/block_threads.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/host_launch.h"
#include "cli/proposals/coordinates.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kWarp = 32;

/// Returns the number of threads from the length of an array in shared memory that threadIdx.x
/// indexes.
std::optional<int64_t> threads_of_shared(const std::string& body, const Definitions& known) {
  static const RE2 kArray(R"(__shared__\s+[\w:]+(?:\s+\w+)*?\s+(\w+)\s*\[([^\]]+)\])");
  const bool is_by_warp = has_warps(without_space(body));
  re2::StringPiece rest(body);
  std::string name, count;
  while (RE2::FindAndConsume(&rest, kArray, &name, &count)) {
    const auto number = number_of(count, known);
    if (!number || *number < 32 || *number > kBlockThreadsMax) continue;
    // The array has one element for each warp of the block.
    if (*number == kWarp && is_by_warp) continue;
    if (body.find(name + "[threadIdx.x]") != std::string::npos ||
        body.find(name + "[tid]") != std::string::npos ||
        body.find(name + "[t]") != std::string::npos) {
      return number;
    }
  }
  return std::nullopt;
}

/// Returns whether the text, which has no space, uses the thread's index for anything but loops
/// that begin with it and comparisons with a number. `names`: variables that hold it.
bool has_other_use(std::string text, const std::vector<std::string>& names) {
  RE2::GlobalReplace(&text, R"(=threadIdx\.x[;,])", "=;");
  const auto is_used = [&](const std::string& name) {
    const std::string word = R"(\b)" + RE2::QuoteMeta(name) + R"(\b)";
    RE2::GlobalReplace(&text, "=" + RE2::QuoteMeta(name) + ";", "=;");
    RE2::GlobalReplace(&text, word + R"((==|!=|<|>)\d+)", "");
    RE2::GlobalReplace(&text, word + "=;", "");
    return RE2::PartialMatch(text, word);
  };
  return is_used("threadIdx.x") || std::ranges::any_of(names, is_used);
}

/// Returns the number by which a loop steps from the thread's index, if the text uses that index
/// for nothing else and does not ask for the size of the block: more threads would do the same
/// elements twice, fewer would leave some.
std::optional<int64_t> threads_of_loop(const std::string& body, const Definitions& known) {
  static const RE2 kLoop(R"(=(\w+|threadIdx\.x);[^;]*;\w+\+=(\w+)\))");
  if (body.find("blockDim") != std::string::npos) return std::nullopt;
  const std::string text = without_space(body);
  std::vector<std::string> names;
  for (const auto& [name, value] : declared_values(body)) {
    const bool is_counter = text.find(name + "+=") != std::string::npos;
    if (value == "threadIdx.x" && !is_counter) names.push_back(name);
  }
  if (has_other_use(text, names)) return std::nullopt;
  re2::StringPiece rest(text);
  std::string first, step;
  while (RE2::FindAndConsume(&rest, kLoop, &first, &step)) {
    if (first != "threadIdx.x" && std::ranges::find(names, first) == names.end()) continue;
    const auto number = number_of(step, known);
    if (number && *number >= kWarp && *number <= kBlockThreadsMax) return number;
  }
  return std::nullopt;
}

/// Returns whether the name is a usual one for the threads of a block: "THREADS", "BLOCK_SIZE",
/// "BlockSize", "kNumThreads".
bool names_threads(const std::string& name) {
  static const RE2 kThreads(
      R"((?i)k?(?:num_?|n_?)?(?:threads|block|block_?size|block_?dim|threads_?per_?block))");
  return RE2::FullMatch(name, kThreads);
}

}  // namespace

BlockTile tile_of(const std::string& body, const Definitions& known) {
  constexpr std::array kAxes = {'x', 'y'};
  static const RE2 kStep(R"(for\s*\([^;]*;\s*\w+\s*<\s*(\w+)\s*;\s*\w+\s*\+=\s*(\w+)\s*\))");
  BlockTile tile;
  int64_t all_threads = 1;
  for (const char axis : kAxes) {
    if (axis != 'x' && body.find(fmt::format("threadIdx.{}", axis)) == std::string::npos) break;
    const std::string place =
        fmt::format(R"(blockIdx\.{0}\s*\*\s*(\w+)\s*\+\s*threadIdx\.{0})", axis);
    std::string count, limit, step;
    if (!RE2::PartialMatch(body, place, &count)) return {};
    const auto elements = number_of(count, known);
    if (!elements || *elements < 1 || *elements > kBlockThreadsMax) return {};
    int64_t threads = *elements;
    // A thread that handles several rows of the tile steps by the number of threads.
    if (axis == 'y' && RE2::PartialMatch(body, kStep, &limit, &step) &&
        number_of(limit, known) == elements) {
      const auto rows = number_of(step, known);
      if (rows && *rows > 0 && *elements % *rows == 0) threads = *rows;
    }
    all_threads *= threads;
    tile.threads.push_back(std::to_string(threads));
    tile.elements.push_back(std::to_string(*elements));
  }
  return all_threads <= kBlockThreadsMax ? tile : BlockTile();
}

std::vector<std::string> guessed_block(const SourceKernel& source, const Definitions& known,
                                       bool plane) {
  static const RE2 kBounds(R"(__launch_bounds__\s*\(\s*([^,)]+))");
  if (const BlockTile tile = tile_of(source.body, known); !tile.threads.empty()) {
    return tile.threads;
  }
  if (plane) return {"16", "16"};
  std::string bounds;
  if (RE2::PartialMatch(source.attributes, kBounds, &bounds)) {
    const auto number = number_of(bounds, known);
    if (number && *number > 0 && *number <= kBlockThreadsMax) return {std::to_string(*number)};
  }
  if (const auto number = threads_of_loop(source.body, known)) return {std::to_string(*number)};
  for (const auto& [name, value] : known.constants) {
    if (!names_threads(name)) continue;
    if (const auto number = number_of(name, known);
        number && *number >= kWarp && *number <= kBlockThreadsMax) {
      return {std::to_string(*number)};
    }
  }
  if (const auto number = threads_of_shared(source.body, known)) return {std::to_string(*number)};
  return {std::to_string(kThreadsUsual)};
}

}  // namespace gpuemu::cli
