// Records elements that are NaN or infinite where their reference is not, and what may excuse them.
#pragma once

namespace gpuemu {

struct CaseRequest;
struct ComparedValues;
struct Comparison;
struct Verdict;

/// Returns whether all inputs of floats are so small that their squares are too small for float32.
bool has_tiny_inputs(const Comparison& comparison);

/// Adds the elements of an output whose verdict has such findings to `values.exceeding`.
void note_class_differences(const CaseRequest& request, const Comparison& comparison,
                            const Verdict& verdict, ComparedValues& values);

}  // namespace gpuemu
