// Tensors for tests of this folder and of folders that build on it.
#pragma once

#include <cstring>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

template <typename T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor tensor{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}
inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return tensor_of(DType::Float32, std::move(shape), values);
}
inline Tensor doubles(Shape shape, const std::vector<double>& values) {
  return tensor_of(DType::Float64, std::move(shape), values);
}

/// Returns a comparison as for an op of an existing client, with tolerance 1e-5. The tensors must
/// outlive it.
inline Comparison legacy(const Tensor& output, const Tensor& reference) {
  Comparison comparison;
  comparison.output = view_of(output);
  comparison.reference = view_of(reference);
  comparison.policy.tolerance.atol = 1e-5;
  return comparison;
}

/// The same with the scale-aware bound.
inline Comparison automatic(const Tensor& output, const Tensor& reference,
                            NanPolicy policy = NanPolicy::Match) {
  Comparison comparison = legacy(output, reference);
  comparison.reference_is_wide = reference.dtype == DType::Float64;
  comparison.policy.tolerance = {};
  comparison.policy.tolerance.automatic = true;
  comparison.policy.nan_policy = policy;
  return comparison;
}

inline std::vector<FindingKind> kinds(const Verdict& verdict) {
  std::vector<FindingKind> all;
  for (const ValidationFailure& failure : verdict.failures) all.push_back(failure.kind);
  return all;
}

}  // namespace gpuemu
