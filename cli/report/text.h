// Results as lines for people, in the forms that editors and scripts read with regular expressions.
#pragma once

#include <ostream>
#include <string>

#include "cli/findings/finding_blocks.h"
#include "cli/findings/one_line.h"
#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// How a text report is laid out.
struct ReportStyle {
  bool blocks = false;   ///< Findings as blocks with the source line, not as one line each.
  bool compact = false;  ///< What passing proves is summed up, not told op by op.
  BlockStyle block = {};
};

/// One [PASS], [FAIL], [SKIP] or [ERROR] line per op and dtype, below it the findings and what
/// passing proves, then a summary that names no op. The [FAIL] and [ERROR] lines go to `err` as
/// well, with the first finding.
void print_test_report(const TestReportReply& report, const ReportStyle& style, std::ostream& out,
                       std::ostream& err);

/// An op whose kernel or reference could not be prepared: nothing of it ran.
bool has_broken_op(const TestReportReply& report);
/// The [ERROR] lines alone.
void print_broken_ops(const TestReportReply& report, std::ostream& err);

/// "10 passed, 3 failing, 1 skipped, 1 not run" without what is 0. Editors take an op for failed
/// when a line has its name and "failed", and an op may be called "a": the word does not occur.
std::string counts_text(uint64_t passed, uint64_t failed, uint64_t skipped, uint64_t not_run);
/// "largest error is 5.6 % of the allowed error" of 0.056.
std::string error_use_text(double use);

/// How much the passing cases prove; names no op, and the words with which editors find failures
/// stand nowhere in it.
std::string evidence_text(const Evidence& evidence);
/// The evidence of one op in one indented line.
std::string evidence_line(const Evidence& evidence);
/// What the passing cases of all ops prove, in one line; "" without any.
std::string evidence_summary(const std::vector<const Evidence*>& proofs);

/// What a guided run reached, indented, in one line.
std::string search_line(const SearchReport& search);

/// The line of cases that pass and are to be looked at; "" when there are none.
std::string warnings_text(uint64_t warned, uint64_t cases,
                          const std::vector<ValidationResult>& warnings);

/// "SEED OP [Kind] message dtype: D shape: [..] max_diff: X seed: SEED"
std::string failure_line(const ValidationResult& result);

/// "Kind: message at kernel.cu:12", without control characters, at most one line.
std::string describe(const ValidationFailure& failure);

/// Why the finding is there, in one line; "" where the report did not look into it.
std::string why(const ValidationFailure& failure);
/// "; why: ..." for reports that have one text for each finding; "" likewise.
std::string reason_of(const ValidationFailure& failure);
/// One indented line per finding with a reason.
void print_reasons(const ValidationResult& result, std::ostream& out);

/// Everything that is known about a case: verdict, findings, dims, statistics.
void print_case(const ValidationResult& result, std::ostream& out, const ReportStyle& style = {});

/// The first elements of each input and a hash of all its bytes.
void print_inputs(const NamedTensors& inputs, std::ostream& out);

/// What the kernel printed, line by line; nothing when that is nothing.
void print_printed(const std::vector<std::string>& lines, std::ostream& out);

/// A table of source lines, the busiest first.
void print_profile(const std::vector<LineProfile>& profile, std::ostream& out);

}  // namespace gpuemu::cli
