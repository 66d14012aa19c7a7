// What an op is told beside its tensors, as packed bytes that a schema describes.
//
//   bytes := field*        in the schema's order, little-endian, no padding
//
// A schema only ever grows at its end: bytes of an older version are complete with the defaults of
// what they lack.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/base/result.h"

namespace gpuemu {

enum class AttributeType : uint8_t { Int32, Int64, UInt64, Float32, Float64 };
std::string_view name_of(AttributeType type);  ///< "int32"
size_t byte_size(AttributeType type);

struct AttributeField {
  std::string name;
  AttributeType type = AttributeType::Float32;
  std::optional<double> fallback = {};  ///< None: it must be given.
  uint32_t since = 1;        ///< The version that brought it; never falls along a schema.
  std::string meaning = {};  ///< For people, as in "added to the variance".
};

struct AttributeSchema {
  uint32_t number = 0;  ///< Unique among ops and never used again; 0 when there are no fields.
  std::vector<AttributeField> fields = {};

  uint32_t version() const { return fields.empty() ? 0 : fields.back().since; }
  /// What callers name: number * 256 + version. 0: none.
  uint32_t id() const { return number * 256 + version(); }
  /// Size of all fields up to `version`.
  size_t byte_size_of(uint32_t version) const;
  size_t offset_of(size_t field) const;
  /// Whether bytes of this version are complete for it, or become so by defaults.
  bool has_version(uint32_t version) const;
};

/// Fields of bytes that check_attributes accepted. Borrows both.
class Attributes {
 public:
  Attributes(const AttributeSchema& schema, std::span<const std::byte> bytes)
      : schema_(&schema), bytes_(bytes) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  /// The same bytes by a schema that begins with the fields of this one.
  Attributes by(const AttributeSchema& longer) const { return {longer, bytes_}; }
  /// As float64, so that a default is not rounded to the field's type. REQUIRES: a float field.
  double number(std::string_view name) const;
  /// REQUIRES: a field of that name and type.
  template <typename T>
  T get(std::string_view name) const {
    T value{};
    const std::byte* from = find(name, type_of<T>());
    if (from == nullptr) return static_cast<T>(fallback(name));
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

 private:
  template <typename T>
  static constexpr AttributeType type_of() {
    if constexpr (std::is_same_v<T, int32_t>) return AttributeType::Int32;
    if constexpr (std::is_same_v<T, int64_t>) return AttributeType::Int64;
    if constexpr (std::is_same_v<T, uint64_t>) return AttributeType::UInt64;
    if constexpr (std::is_same_v<T, float>) return AttributeType::Float32;
    if constexpr (std::is_same_v<T, double>) return AttributeType::Float64;
  }
  /// Null when the bytes end before it.
  const std::byte* find(std::string_view name, AttributeType type) const;
  double fallback(std::string_view name) const;

  const AttributeSchema* schema_;
  std::span<const std::byte> bytes_;
};

/// InvalidArgument naming what does not fit: another schema, a version that this build does not
/// know, a wrong number of bytes, a field that has no default and is not given. schema_id 0 with no
/// bytes is every default.
Status check_attributes(const AttributeSchema& schema, uint32_t schema_id,
                        std::span<const std::byte> bytes);

}  // namespace gpuemu
