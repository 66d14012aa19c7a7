#include "tests/conformance/rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/core.h>

namespace gpuemu::rows {
namespace {

constexpr std::string_view kResults = "defg";
constexpr std::string_view kOperands = "abchij";
/// A block's threads: one for each case.
constexpr size_t kCasesMax = 512;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) all.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<RowFile> read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      GPUEMU_TRY(line(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    GPUEMU_TRY(finish_row());
    if (file_.target.empty()) return wrong("no target; expected 'target sm_80'");
    return std::move(file_);
  }

 private:
  Error wrong(const std::string& what) const {
    return error(ErrorCode::Compile, "{}:{}: {}", name_, line_, what);
  }

  Status line(std::string_view text) {
    const auto parts = words(text);
    if (parts.empty() || parts[0].starts_with('#')) return {};
    const std::string_view rest = text.substr(std::min(parts[0].size() + 1, text.size()));
    if (parts[0] == "target") {
      file_.target = rest;
      return {};
    }
    if (parts[0] == "prelude") {
      file_.prelude.append(rest).append("\n");
      return {};
    }
    if (parts[0] == "row") {
      GPUEMU_TRY(finish_row());
      file_.rows.emplace_back().name = rest;
      file_.rows.back().line = line_;
      return {};
    }
    if (file_.rows.empty()) return wrong("expected 'row' before this line");
    Row& row = file_.rows.back();
    if (parts[0] == "types") return types(row, parts);
    if (parts[0] == "text") {
      row.text = rest;
      return {};
    }
    return a_case(row, parts);
  }

  Status types(Row& row, const std::vector<std::string_view>& parts) {
    static constexpr std::array<std::string_view, 5> kTypes = {"b8", "b16", "b32", "b64", "pred"};
    std::vector<std::string>* into = &row.result_types;
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i] == "=") {
        into = &row.operand_types;
      } else if (std::ranges::find(kTypes, parts[i]) == kTypes.end()) {
        return wrong(fmt::format("unknown type '{}'", parts[i]));
      } else {
        into->emplace_back(parts[i]);
      }
    }
    if (row.result_types.empty() || row.result_types.size() > kResults.size() ||
        row.operand_types.size() > kOperands.size()) {
      return wrong("expected 1 to 4 results and up to 6 operands");
    }
    return {};
  }

  Status a_case(Row& row, const std::vector<std::string_view>& parts) {
    Case made;
    made.line = line_;
    bool results = false;
    for (const std::string_view part : parts) {
      if (part == "=") {
        results = true;
        continue;
      }
      uint64_t value = 0;
      const char* end = part.data() + part.size();
      const auto read = std::from_chars(part.data(), end, value, 16);
      const bool any = part == "*" && results;
      if (!any && (read.ec != std::errc() || read.ptr != end)) {
        return wrong(fmt::format("'{}' is no hexadecimal number of 64 bits", part));
      }
      if (results) {
        made.results.push_back(any ? std::nullopt : std::optional(value));
      } else {
        made.operands.push_back(value);
      }
    }
    if (made.operands.size() != row.operand_types.size() ||
        made.results.size() != row.result_types.size()) {
      return wrong(fmt::format("{} operands and {} results; the types of '{}' ask for {} and {}",
                               made.operands.size(), made.results.size(), row.name,
                               row.operand_types.size(), row.result_types.size()));
    }
    row.cases.push_back(std::move(made));
    return {};
  }

  Status finish_row() {
    if (file_.rows.empty()) return {};
    Row& row = file_.rows.back();
    if (row.cases.empty() || row.cases.size() > kCasesMax) {
      return wrong(fmt::format("row '{}' has {} cases; expected 1 to {}", row.name,
                               row.cases.size(), kCasesMax));
    }
    if (!row.text.empty()) return {};
    row.text = row.name;
    for (size_t i = 0; i < row.result_types.size(); ++i) {
      row.text += fmt::format("{} %{}", i == 0 ? "" : ",", kResults[i]);
    }
    for (size_t i = 0; i < row.operand_types.size(); ++i) {
      row.text += fmt::format(", %{}", kOperands[i]);
    }
    row.text += ";";
    return {};
  }

  const std::string& name_;
  uint32_t line_ = 0;
  RowFile file_;
};

std::string load(const std::string& type, char name, size_t offset) {
  if (type == "pred") {
    return fmt::format("ld.global.b32 %pw, [%pin+{}];\nsetp.ne.u32 %{}, %pw, 0;\n", offset, name);
  }
  return fmt::format("ld.global.{} %{}, [%pin+{}];\n", type, name, offset);
}

std::string store(const std::string& type, char name, size_t offset) {
  if (type == "pred") {
    return fmt::format("selp.u32 %pw, 1, 0, %{};\nst.global.b32 [%pout+{}], %pw;\n", name, offset);
  }
  return fmt::format("st.global.{} [%pout+{}], %{};\n", type, offset, name);
}

std::string declare(const std::string& type, char name) {
  // Registers of 8 bits exist for loads and stores alone.
  return fmt::format(".reg .{} %{};\n", type == "b8" ? "b16" : type, name);
}

bool mentions(const Row& row, std::string_view what) {
  return row.text.find(what) != std::string::npos;
}

/// Addresses of thread %t: `bytes` of operands or results each, then its scratch.
std::string addresses(const Row& row) {
  const auto own = [](std::string_view pointer, std::string_view parameter, size_t bytes) {
    return fmt::format(
        "ld.param.u64 {0}, [{1}];\ncvta.to.global.u64 {0}, {0};\n"
        "mad.wide.u32 {0}, %t, {2}, {0};\n",
        pointer, parameter, bytes);
  };
  std::string out =
      ".reg .b64 %pin, %pout, %m, %l;\n.reg .b32 %t, %pn, %pw, %s;\n.reg .pred %pp;\n";
  out += "mov.u32 %t, %tid.x;\nld.param.u32 %pn, [n];\nsetp.ge.u32 %pp, %t, %pn;\n@%pp ret;\n";
  out += own("%pin", "in", 8 * std::max<size_t>(1, row.operand_types.size()));
  out += own("%pout", "out", 8 * row.result_types.size());
  if (mentions(row, "%m")) out += own("%m", "scratch", kScratchBytes);
  std::string zero;
  const auto zeroed = [&](std::string_view space, std::string_view base) {
    for (uint32_t at = 0; at < kScratchBytes; at += 8) {
      zero += fmt::format("st.{}.b64 [{}+{}], 0;\n", space, base, at);
    }
  };
  if (mentions(row, "%s")) {
    out += fmt::format(
        ".shared .align 16 .b8 shared_scratch[{}];\nmov.u32 %s, shared_scratch;\n"
        "mad.lo.u32 %s, %t, {}, %s;\n",
        row.cases.size() * kScratchBytes, kScratchBytes);
    zeroed("shared", "%s");
  }
  if (mentions(row, "%l")) {
    out += fmt::format(".local .align 16 .b8 local_scratch[{}];\nmov.u64 %l, local_scratch;\n",
                       kScratchBytes);
    zeroed("local", "%l");
  }
  return out + zero;
}

std::string entry_of(const Row& row, size_t index) {
  std::string out = fmt::format(
      ".visible .entry row{}(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u32 n,\n"
      ".param .align 16 .b8 q[16]) {{\n",
      index);
  for (size_t i = 0; i < row.operand_types.size(); ++i) {
    out += declare(row.operand_types[i], kOperands[i]);
  }
  for (size_t i = 0; i < row.result_types.size(); ++i) {
    out += declare(row.result_types[i], kResults[i]);
  }
  out += addresses(row);
  for (size_t i = 0; i < row.operand_types.size(); ++i) {
    out += load(row.operand_types[i], kOperands[i], 8 * i);
  }
  out += row.text + "\n";
  for (size_t i = 0; i < row.result_types.size(); ++i) {
    out += store(row.result_types[i], kResults[i], 8 * i);
  }
  return out + "ret;\n}\n";
}

}  // namespace

Result<RowFile> parse_rows(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

std::string module_of(const RowFile& file) {
  const int sm = std::atoi(file.target.c_str() + 3);
  const uint32_t version = sm >= 100 ? 88 : sm >= 90 ? 86 : 80;
  std::string out = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", version / 10,
                                version % 10, file.target);
  out += fmt::format(".const .align 16 .b8 k[{}] = {{", kScratchBytes);
  for (uint32_t i = 0; i < kScratchBytes; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ",", 3 * i + 1);
  }
  out += "};\n" + file.prelude;
  for (size_t i = 0; i < file.rows.size(); ++i) out += entry_of(file.rows[i], i);
  return out;
}

}  // namespace gpuemu::rows
