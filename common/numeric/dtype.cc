// The table of dtype.def, and the functions that read it.
#include "common/numeric/dtype.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace gpuemu {
namespace {

enum class Kind : uint8_t { Float, Signed, Unsigned, Bool };

struct Row {
  DType dtype;
  std::string_view name, alias, cuda_type;
  size_t bytes;
  Kind kind;
};

constexpr Row kRows[] = {
#define GPUEMU_DTYPE(enumerator, name, alias, cuda, bytes, kind) \
  {DType::enumerator, name, alias, cuda, bytes, Kind::kind},
#include "common/numeric/dtype.def"
#undef GPUEMU_DTYPE
};
static_assert(std::size(kRows) == kDTypeCount);

constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

/// Names used by CUDA, Triton and papers.
constexpr std::pair<std::string_view, DType> kOtherSpellings[] = {
    {"half", DType::Float16},  {"fp16", DType::Float16},   {"fp32", DType::Float32},
    {"float", DType::Float32}, {"double", DType::Float64}, {"fp64", DType::Float64},
};

const Row& row_of(DType dtype) {
  GPUEMU_CHECK(static_cast<size_t>(dtype) < kDTypeCount);
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

size_t byte_size(DType dtype) { return row_of(dtype).bytes; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }
std::string_view cuda_type_of(DType dtype) { return row_of(dtype).cuda_type; }
bool is_float(DType dtype) { return row_of(dtype).kind == Kind::Float; }
bool is_signed_integer(DType dtype) { return row_of(dtype).kind == Kind::Signed; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_alias(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  for (const Row& row : kRows) {
    if (row.name == lower || row.alias == lower) return row.dtype;
  }
  for (const auto& [spelling, dtype] : kOtherSpellings) {
    if (spelling == lower) return dtype;
  }
  return std::nullopt;
}

}  // namespace gpuemu
