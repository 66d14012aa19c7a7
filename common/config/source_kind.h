// Classifies a kernel's `source` by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuemu {

/// Prefix of the name of a built-in kernel.
inline constexpr std::string_view kBuiltinSource = "builtin:";

enum class SourceKind : uint8_t {
  None,         ///< No source: an empty path.
  Builtin,      ///< A built-in kernel.
  Cuda,         ///< .cu
  CudaHeader,   ///< .cuh
  Ptx,          ///< .ptx
  MachineCode,  ///< .cubin, .fatbin
  Python,       ///< .py
  Other,
};

constexpr SourceKind source_kind(std::string_view source) {
  if (source.empty()) return SourceKind::None;
  if (source.starts_with(kBuiltinSource)) return SourceKind::Builtin;
  if (source.ends_with(".cu")) return SourceKind::Cuda;
  if (source.ends_with(".cuh")) return SourceKind::CudaHeader;
  if (source.ends_with(".ptx")) return SourceKind::Ptx;
  if (source.ends_with(".cubin") || source.ends_with(".fatbin")) return SourceKind::MachineCode;
  return source.ends_with(".py") ? SourceKind::Python : SourceKind::Other;
}

/// Returns whether nvcc compiles it.
constexpr bool is_cuda_source(std::string_view source) {
  const SourceKind kind = source_kind(source);
  return kind == SourceKind::Cuda || kind == SourceKind::CudaHeader;
}

}  // namespace gpuemu
