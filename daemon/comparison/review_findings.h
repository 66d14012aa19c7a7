// Changes a case's findings once errors beyond the bound are understood.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuemu {

struct CaseReport;
struct CaseRequest;
struct Exceeding;
struct ExceedingElement;
struct FloatFormat;

/// Returns whether the error is small enough to come from underflow in the type.
bool may_be_underflow(const ExceedingElement& at, const FloatFormat& format);

/// Lets the case pass. `warned` are the elements that only a customary test accepts: each output
/// with such elements gets one warning.
void excuse(const std::vector<const ExceedingElement*>& warned, CaseReport& report);

/// Notes in the findings that `strict` keeps them.
void explain_strictness(const Exceeding& exceeding, CaseReport& report);

/// Whether the case ran without rounding.
enum class Looked : uint8_t { WithoutRounding, NotAtAll };
/// Lists in the findings the settings that would accept them.
void explain_inaccuracy(const CaseRequest& request, Looked looked, const Exceeding& exceeding,
                        CaseReport& report);

}  // namespace gpuemu
