#include "runtime/fidelity/fidelity_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/files.h"
#include "runtime/fidelity/form.h"
#include "runtime/fidelity/kernel_forms.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr size_t kCodeBytesMax = size_t{64} << 20;  ///< As much as the driver accepts.
constexpr size_t kFormsShown = 3;

/// The instructions that kernels reached and the emulator refused: kernel and form, with the
/// reason.
using Refused = std::map<std::pair<std::string, std::string>, std::string>;

/// Returns "ld.global.f32" for "@%p ld.global.f32 %f1, [%rd1]".
std::string form_in(const std::string& instruction) {
  const size_t guard = instruction.starts_with('@') ? instruction.find(' ') : 0;
  const size_t begin = instruction.find_first_not_of(' ', guard);
  if (begin == instruction.npos) return "";
  return instruction.substr(begin, instruction.find_first_of(" ;", begin) - begin);
}

Refused refused_of(const RunRecords& records) {
  const std::string kind = run_kind_of(DeviceFindingKind::UnsupportedInstruction);
  Refused made;
  for (const RunFinding& one : records.findings) {
    if (one.kind == kind) made[{one.ptx_kernel, form_in(one.instruction)}] = one.message;
  }
  return made;
}

RunFidelity classified(const RunForm& form, bool is_counted, const Refused& refused) {
  RunFidelity made{form.kernel, form.ptx_kernel, form.form, {}, {}, {}, form.sm};
  if (is_counted) made.count = form.count;
  FormFidelity known = fidelity_of(form.form, form.sm);
  const auto reason = refused.find({form.ptx_kernel, form.form});
  if (reason != refused.end()) known = {FidelityClass::Unsupported, reason->second};
  made.what = name_of(known.what);
  made.why = std::move(known.why);
  made.of_architecture = known.of_architecture;
  return made;
}

/// Returns the forms in the PTX of the launched kernels.
Result<std::vector<RunForm>> forms_of_code(const std::vector<RunCode>& code,
                                           const std::string& folder) {
  std::map<std::string, ptx::Module> modules;
  std::vector<RunForm> made;
  std::set<std::tuple<std::string, std::string, int>> known;
  for (const RunCode& one : code) {
    auto module = modules.find(one.file);
    if (module == modules.end()) {
      const std::string text = GPUEMU_TRY(read_file(folder + "/" + one.file, kCodeBytesMax));
      ptx::Module parsed = GPUEMU_TRY(ptx::parse(text, one.file));
      module = modules.emplace(one.file, std::move(parsed)).first;
    }
    for (const std::string& form : forms_of(module->second, one.ptx_kernel)) {
      if (!known.emplace(one.ptx_kernel, form, one.sm).second) continue;
      made.push_back({one.kernel, one.ptx_kernel, form, one.sm, 0});
    }
  }
  return made;
}

/// Returns for example "ex2.approx.f32 on sm_80".
std::string shown(const RunFidelity& one) {
  const std::string name = short_name(one.form);
  return one.of_architecture ? fmt::format("{} on sm_{}", name, one.sm) : name;
}

/// Returns " (a, b, c ...)"; "" for an empty list.
std::string list_text(const std::set<std::string>& names) {
  if (names.empty()) return "";
  std::string text;
  size_t count = 0;
  for (const std::string& name : names) {
    if (count == kFormsShown) break;
    text += (count++ == 0 ? " (" : ", ") + name;
  }
  return text + (names.size() > kFormsShown ? " ...)" : ")");
}

}  // namespace

Result<std::vector<RunFidelity>> fidelity_of(const RunRecords& records, const std::string& folder) {
  const Refused refused = refused_of(records);
  const bool is_counted = !records.forms.empty();
  std::vector<RunForm> forms = records.forms;
  if (!is_counted) forms = GPUEMU_TRY(forms_of_code(records.code, folder));
  std::vector<RunFidelity> made;
  for (const RunForm& form : forms) made.push_back(classified(form, is_counted, refused));
  std::ranges::sort(made, [](const RunFidelity& a, const RunFidelity& b) {
    return std::tie(a.kernel, a.ptx_kernel, a.form, a.sm) <
           std::tie(b.kernel, b.ptx_kernel, b.form, b.sm);
  });
  return made;
}

std::string fidelity_text(const std::vector<RunFidelity>& fidelity) {
  if (fidelity.empty()) return "";
  std::map<std::string, std::set<std::pair<std::string, int>>> forms;
  std::map<std::string, std::set<std::string>> names;
  std::set<std::pair<std::string, int>> all;
  for (const RunFidelity& one : fidelity) {
    all.emplace(one.form, one.sm);
    forms[one.what].emplace(one.form, one.sm);
    names[one.what].insert(shown(one));
  }
  std::string text =
      fmt::format("fidelity: {} {}: ", all.size(), all.size() == 1 ? "form" : "forms");
  const auto counted = [&](FidelityClass what, bool lists) {
    const std::string name(name_of(what));
    return fmt::format("{} {}{}", forms[name].size(), name, lists ? list_text(names[name]) : "");
  };
  text += counted(FidelityClass::Exact, false) + ", " + counted(FidelityClass::Defined, false) +
          ", " + counted(FidelityClass::Modelled, true);
  if (forms.contains(std::string(name_of(FidelityClass::Unsupported)))) {
    text += ", " + counted(FidelityClass::Unsupported, true);
  }
  text += fmt::format("\nfidelity: not covered: {}", fmt::join(kNotCovered, ", "));
  const bool is_counted = fidelity.front().count.has_value();
  return text + (is_counted ? "\n"
                            : "; these are the forms of the kernels' code, --fidelity FILE counts "
                              "what is executed\n");
}

std::vector<RunFinding> unmeasured(const std::vector<RunFidelity>& fidelity) {
  std::vector<RunFinding> made;
  for (const RunFidelity& one : fidelity) {
    if (one.what != name_of(FidelityClass::Modelled)) continue;
    RunFinding finding;
    finding.kind = kRunUnmeasured;
    finding.severity = RunSeverity::Warning;
    finding.message = fmt::format("the bits of {} are modelled: {}", one.form, one.why);
    finding.kernel = one.kernel;
    finding.ptx_kernel = one.ptx_kernel;
    finding.instruction = one.form;
    finding.count = one.count.value_or(1);
    made.push_back(std::move(finding));
  }
  return made;
}

}  // namespace gpuemu
