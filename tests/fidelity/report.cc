#include "tests/fidelity/report.h"

#include <algorithm>

namespace gpuemu::fidelity {
namespace {

/// Never rounded up to 100.
std::string percent(const OutputTally& of) {
  if (of.elements == 0) return "-";
  if (of.identical == of.elements) return "100 %";
  const double share = 100.0 * static_cast<double>(of.identical) / static_cast<double>(of.elements);
  return fmt::format("{:.3f} %", std::min(share, 99.999));
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += c;
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    out += fmt::format("{}\"{}\"", out.size() == 1 ? "" : ", ", escaped(text));
  }
  out += ']';
  return out;
}

std::string remark(const Tally& tally, const OutputTally& output) {
  std::string out;
  if (output.nan_bits != 0) out += fmt::format("{} NaN with other bits; ", output.nan_bits);
  if (output.not_finite != 0) out += fmt::format("{} not finite on one side; ", output.not_finite);
  if (!tally.notes.empty()) out += tally.notes.front() + "; ";
  out += output.first;
  std::ranges::replace(out, '\n', ' ');
  std::string cell;
  for (const char c : out) cell += c == '|' ? "and" : std::string(1, c);
  return cell;
}

std::string json_of(const OutputTally& output) {
  return fmt::format(
      R"({{"output": "{}", "dtype": "{}", "elements": {}, "identical": {}, "max_ulp": {}, )"
      R"("nan_bits": {}, "not_finite": {}, "first": "{}"}})",
      output.name, name_of(output.dtype), output.elements, output.identical, output.ulps_max,
      output.nan_bits, output.not_finite, escaped(output.first));
}

}  // namespace

bool Report::identical() const {
  return problems.empty() && std::ranges::all_of(tallies, &Tally::identical);
}

std::string markdown(const Report& report) {
  std::string out = fmt::format("{} beside {}; {} cases an op and dtype, seed {}\n\n", report.left,
                                report.right, report.amount.cases, report.amount.seed);
  out += "| project/op/dtype | output | elements | identical | max ULP | first difference |\n";
  out += "| --- | --- | --- | --- | --- | --- |\n";
  for (const Tally& tally : report.tallies) {
    for (const OutputTally& output : tally.outputs) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", tally.subject, output.name,
                         output.elements, percent(output), output.ulps_max, remark(tally, output));
    }
    if (tally.outputs.empty()) {
      out += fmt::format("| {} | - | 0 | - | - | {} |\n", tally.subject, remark(tally, {}));
    }
  }
  for (const std::string& problem : report.problems) out += "\nNot compared: " + problem + "\n";
  return out;
}

std::string json(const Report& report) {
  std::string rows;
  for (const Tally& tally : report.tallies) {
    std::string outputs;
    for (const OutputTally& output : tally.outputs) {
      outputs.append(outputs.empty() ? "" : ", ").append(json_of(output));
    }
    rows.append(rows.empty() ? "" : ",\n  ")
        .append(fmt::format(
            R"({{"subject": "{}", "cases": {}, "cases_identical": {}, "outputs": [{}], "notes": {}}})",
            tally.subject, tally.cases, tally.cases_identical, outputs, joined(tally.notes)));
  }
  return fmt::format(
      "{{\"left\": \"{}\", \"right\": \"{}\", \"cases\": {}, \"seed\": {}, \"identical\": {},\n"
      " \"problems\": {},\n \"subjects\": [\n  {}]}}\n",
      escaped(report.left), escaped(report.right), report.amount.cases, report.amount.seed,
      report.identical(), joined(report.problems), rows);
}

}  // namespace gpuemu::fidelity
