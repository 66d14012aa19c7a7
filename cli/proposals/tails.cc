#include "cli/proposals/tails.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/host_launch.h"

namespace gpuemu::cli {
namespace {

/// Blanks the bound of each loop whose counter begins at a number: it is the length of a sum, and
/// says nothing about threads.
std::string without_counted_loops(std::string body) {
  static const RE2 kHead(R"(\bfor\s*\(\s*(?:[\w:]+\s+)*(\w+)\s*=\s*\d\w*\s*;)");
  re2::StringPiece rest(body), counter;
  while (RE2::FindAndConsume(&rest, kHead, &counter)) {
    const auto begin = static_cast<size_t>(rest.data() - body.data());
    const size_t end = std::min(body.find(';', begin), body.size());
    const std::string bound = R"(\s*)" + std::string(counter) + R"(\s*(?:<=?|!=)[^<>&|?]*)";
    if (RE2::FullMatch(body.substr(begin, end - begin), bound)) {
      std::fill(body.begin() + static_cast<std::ptrdiff_t>(begin),
                body.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
  }
  return body;
}

/// Returns the part of an expression or statement around `at`.
std::string clause_around(const std::string& body, size_t at) {
  const size_t before = body.find_last_of(";{}&|?=", at);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return body.substr(begin, std::min(body.find_first_of(";{}&|?=", at), body.size()) - begin);
}

/// Returns the size and the variables that the text computes from it.
std::vector<std::string> names_of(const std::string& size, const std::string& body) {
  std::vector<std::string> names = {size};
  const std::map<std::string, std::string> declared = declared_values(body);
  for (size_t at = 0; at < names.size(); ++at) {
    for (const auto& [variable, value] : declared) {
      const bool is_place = value.find("Idx") != std::string::npos;
      if (is_place || find_word(value, names[at]) == std::string::npos) continue;
      if (std::ranges::find(names, variable) == names.end()) names.push_back(variable);
    }
  }
  return names;
}

}  // namespace

int64_t block_of(const std::string& dim, const ProposedLaunch& launch) {
  const std::string name = RE2::QuoteMeta(dim);
  for (const std::string& text : launch.grid) {
    int64_t threads_each = 1, block = 0;
    if (!RE2::PartialMatch(text, R"(cdiv\()" + name + R"(, (\d+)\))", &block) &&
        !RE2::PartialMatch(text, R"(cdiv\()" + name + R"( \* (\d+), (\d+)\))", &threads_each,
                           &block) &&
        !RE2::PartialMatch(text, R"(cdiv\((\d+) \* )" + name + R"(, (\d+)\))", &threads_each,
                           &block)) {
      continue;
    }
    block /= std::max<int64_t>(std::gcd(block, threads_each), 1);
    if (block > 1) return block;
  }
  return 1;
}

bool has_tail_check(const ProposedKernel& kernel, const std::string& dim) {
  static const RE2 kNoComparison(R"(\w+_cast\s*<[^;()]*>|<<|>>|->)");
  static const RE2 kComparison(R"([<>%]|\bf?(?:min|max)f?\s*\()");
  const ProposedParam* size = nullptr;
  for (const ProposedParam& param : kernel.params) {
    if (param.name == dim) size = &param;
  }
  if (size == nullptr) return true;
  std::string body = kernel.body;
  RE2::GlobalReplace(&body, kNoComparison, " ");
  body = without_counted_loops(body);
  RE2::GlobalReplace(&body, "[<>=!]=", "<");  // The other = assign, and end a clause.
  return std::ranges::any_of(names_of(size->written, body), [&](const std::string& name) {
    const std::string argument =
        R"([(,]\s*)" + RE2::QuoteMeta(name) + R"(\s*,|,\s*)" + RE2::QuoteMeta(name) + R"(\s*\))";
    for (size_t at = find_word(body, name); at != std::string::npos;
         at = find_word(body, name, at + 1)) {
      const std::string clause = clause_around(body, at);
      if (RE2::PartialMatch(clause, kComparison) || RE2::PartialMatch(clause, argument)) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace gpuemu::cli
