#include "common/config/stub_reference.h"

#include <algorithm>
#include <utility>

#include "common/base/files.h"

namespace gpuemu {
namespace {

// Larger files are not searched for a stub, which has a few lines.
constexpr size_t kStubBytesMax = 64 << 10;
constexpr std::string_view kBlank = " \t\r\n";

/// Skips blanks, comments and string literals that are statements.
std::string_view first_statement(std::string_view text) {
  for (;;) {
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == text.npos) return {};
    text.remove_prefix(begin);
    if (text.starts_with('#')) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    std::string_view quote;
    for (const std::string_view one : {R"(""")", "'''", "\"", "'"}) {
      if (quote.empty() && text.starts_with(one)) {
        quote = one;
      }
    }
    if (quote.empty()) return text;
    const size_t end = text.find(quote, quote.size());
    if (end == text.npos) return {};
    text.remove_prefix(end + quote.size());
  }
}

/// Returns the text after the colon of `def FUNCTION(...):`; empty if there is no such function.
std::string_view body_of(std::string_view script, const std::string& function) {
  const std::string definition = "def " + function + "(";
  size_t at = script.starts_with(definition) ? 0 : script.find("\n" + definition);
  if (at == script.npos) return {};
  at = script.find('(', at);
  int depth = 0;
  for (; at < script.size(); ++at) {
    if (script[at] == '(' || script[at] == '[') ++depth;
    if (script[at] == ')' || script[at] == ']') --depth;
    if (depth == 0 && script[at] == ':') return script.substr(at + 1);
  }
  return {};
}

}  // namespace

bool is_stub_reference(std::string_view script, const std::string& function) {
  constexpr std::string_view kRefusal = "raise NotImplementedError";
  const std::string_view statement = first_statement(body_of(script, function));
  if (!statement.starts_with(kRefusal)) return false;
  const std::string_view behind = statement.substr(kRefusal.size());
  return behind.empty() || kBlank.find(behind[0]) != kBlank.npos || behind[0] == '(' ||
         behind[0] == '#';
}

bool set_stubs_aside(Config& config) {
  bool any = false;
  for (OpConfig& op : config.ops) {
    if (op.mode != ExecutionMode::Kernel || op.reference.empty()) continue;
    const auto script = read_file(op.reference, kStubBytesMax);
    const std::string& function = op.reference_function;
    if (!script || !is_stub_reference(*script, function.empty() ? "reference" : function)) continue;
    op.stub_reference = std::exchange(op.reference, "");
    any = true;
  }
  return any;
}

}  // namespace gpuemu
