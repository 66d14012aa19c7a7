// Limits of the PTX parser, each with its reason. Text beyond them is refused, never truncated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu::ptx {

/// Registers of one function. nvcc and Triton stay below 50,000, but a declaration of a few
/// characters can ask for any number, and each costs about 40 bytes.
inline constexpr uint32_t kRegistersMax = 1u << 20;
/// Registers of all functions of a module together, for the same reason.
inline constexpr uint32_t kModuleRegistersMax = 1u << 22;
/// Instructions of a module, about 400 bytes each.
inline constexpr size_t kInstructionsMax = size_t{1} << 24;
/// Bytes of one variable. More than the memory of a common GPU is probably a typing mistake.
inline constexpr uint64_t kVariableBytesMax = uint64_t{16} << 30;
/// Bytes of all initialisers of a module: short texts can declare long runs of zeros.
inline constexpr uint64_t kInitialiserBytesMax = uint64_t{256} << 20;
/// Nested { } in a function; inline assembly nests two or three.
inline constexpr uint32_t kScopeDepthMax = 64;
/// Dimensions of an array, and so the nesting of its initialiser.
inline constexpr size_t kDimensionsMax = 8;
/// Nested operands: a vector inside an address inside an operand list is the deepest real form.
inline constexpr uint32_t kOperandDepthMax = 4;
/// Variables and parameters of a module, about 250 bytes each; the largest module of CUB has some
/// thousands.
inline constexpr uint64_t kVariablesMax = 1u << 18;
/// Nested constant expressions: compilers emit none, people two or three levels.
inline constexpr uint32_t kExpressionDepthMax = 64;
/// Names that one `name<N>` declaration of variables may create.
inline constexpr uint64_t kVariableRangeMax = 1u << 16;
/// Largest alignment, the same as that of ptxas.
inline constexpr uint64_t kAlignMax = uint64_t{1} << 20;
/// Newest .version that this parser was written for.
inline constexpr uint32_t kNewestMajor = 9;
inline constexpr uint32_t kNewestMinor = 0;

}  // namespace gpuemu::ptx
