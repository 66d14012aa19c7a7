// Formats results as lines for users, in forms that editors and scripts parse with regular
// expressions.
#pragma once

#include <ostream>
#include <string>

#include "cli/findings/finding_blocks.h"
#include "cli/findings/one_line.h"
#include "common/protocol/evidence.gen.h"
#include "common/protocol/records.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// The layout of a text report.
struct ReportStyle {
  bool blocks = false;   ///< Show findings as blocks with the source line, not as one line each.
  bool compact = false;  ///< Summarize the evidence of all ops instead of printing it for each.
  BlockStyle block = {};
};

/// Prints one [PASS], [FAIL], [SKIP] or [ERROR] line per op and dtype, below it the findings and
/// the evidence, then a summary that names no op. The [FAIL] and [ERROR] lines also go to `err`,
/// with the first finding.
void print_test_report(const TestReportReply& report, const ReportStyle& style, std::ostream& out,
                       std::ostream& err);

/// Returns the warning that findings rest on a guess, as below the findings of an op; "" for "".
std::string guess_warning(const std::string& guess, const ReportStyle& style);

/// Returns whether the report has an op that did not run at all, because its kernel or reference
/// could not be prepared.
bool has_broken_op(const TestReportReply& report);
/// Prints only the [ERROR] lines.
void print_broken_ops(const TestReportReply& report, std::ostream& err);

/// Returns "10 passed, 3 failing, 1 skipped, 1 not run", omitting zeros. Must not contain the word
/// "failed": editors treat an op as failed if a line contains its name and that word, and an op may
/// be called "a".
std::string counts_text(uint64_t passed, uint64_t failed, uint64_t skipped, uint64_t not_run,
                        uint64_t without_reference = 0);
/// Returns "largest error is 5.6 % of the allowed error" for 0.056.
std::string error_use_text(double use);

/// Describes how much the passing cases prove. Names no op, and contains none of the words by which
/// editors find failures.
std::string evidence_text(const Evidence& evidence);
/// Returns the evidence of one op as one indented line.
std::string evidence_line(const Evidence& evidence);
/// Summarizes the evidence of the passing cases of all ops in one line; "" if there is none.
std::string evidence_summary(const std::vector<const Evidence*>& proofs);

/// Describes what a guided run reached, in one indented line.
std::string search_line(const SearchReport& search);

/// Returns the line about passing cases that deserve attention; "" if there are none.
std::string warnings_text(uint64_t warned, uint64_t cases,
                          const std::vector<ValidationResult>& warnings);

/// Returns "SEED OP [Kind] message dtype: D shape: [..] max_diff: X seed: SEED".
std::string failure_line(const ValidationResult& result);

/// Returns "Kind: message at kernel.cu:12", without control characters, in at most one line.
std::string describe(const ValidationFailure& failure);

/// Returns the reason for the finding, in one line; "" if it was not investigated.
std::string why(const ValidationFailure& failure);
/// Returns "; why: ..." for reports with one text for each finding; "" as for why().
std::string reason_of(const ValidationFailure& failure);
/// Prints one indented line per finding with a reason.
void print_reasons(const ValidationResult& result, std::ostream& out);

/// Prints everything that is known about a case: verdict, findings, dims, statistics.
void print_case(const ValidationResult& result, std::ostream& out, const ReportStyle& style = {});

/// Prints the first elements of each input and a hash of all its bytes.
void print_inputs(const NamedTensors& inputs, std::ostream& out);

/// Prints the output of the kernel's printf, line by line.
void print_printed(const std::vector<std::string>& lines, std::ostream& out);

/// Prints a table of source lines, the most executed first.
void print_profile(const std::vector<LineProfile>& profile, std::ostream& out);

}  // namespace gpuemu::cli
