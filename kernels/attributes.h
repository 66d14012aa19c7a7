// Attributes of an op as packed bytes, described by a schema.
//
//   bytes := field*        in the schema's order, little-endian, no padding
//
// A schema only grows at its end. Bytes of an older version are completed with the defaults of the
// missing fields.
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
  std::optional<double> fallback = {};  ///< None: the field is required.
  uint32_t since = 1;                   ///< The version that added it; ascending along a schema.
  std::string meaning = {};             ///< Human-readable, as in "added to the variance".
};

struct AttributeSchema {
  uint32_t number = 0;  ///< Unique among ops and never reused; 0 if there are no fields.
  std::vector<AttributeField> fields = {};

  uint32_t version() const { return fields.empty() ? 0 : fields.back().since; }
  /// Returns the id that callers pass: number * 256 + version; 0: no fields.
  uint32_t id() const { return number * 256 + version(); }
  /// Returns the size of all fields up to `version`.
  size_t byte_size_of(uint32_t version) const;
  size_t offset_of(size_t field) const;
  /// Returns whether bytes of this version are complete, or become so by defaults.
  bool has_version(uint32_t version) const;
};

/// Fields of bytes accepted by check_attributes(). Borrows both arguments.
class Attributes {
 public:
  Attributes(const AttributeSchema& schema, std::span<const std::byte> bytes)
      : schema_(&schema), bytes_(bytes) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns the same bytes under a schema that begins with the fields of this one.
  Attributes by(const AttributeSchema& longer) const { return {longer, bytes_}; }
  /// Returns the value as float64, so that a default is not rounded to the field's type. Requires a
  /// float field.
  double number(std::string_view name) const;
  /// Requires a field of that name and type.
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
  /// Returns null if the bytes end before the field.
  const std::byte* find(std::string_view name, AttributeType type) const;
  double fallback(std::string_view name) const;

  const AttributeSchema* schema_;
  std::span<const std::byte> bytes_;
};

/// InvalidArgument names the problem: another schema, an unknown version, a wrong number of bytes,
/// a missing field without a default. schema_id 0 without bytes means all defaults.
Status check_attributes(const AttributeSchema& schema, uint32_t schema_id,
                        std::span<const std::byte> bytes);

}  // namespace gpuemu
