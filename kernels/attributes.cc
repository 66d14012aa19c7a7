// Reads and checks packed attributes.
#include "kernels/attributes.h"

#include <algorithm>
#include <bit>

namespace gpuemu {
namespace {

// Fields are copied without conversion.
static_assert(std::endian::native == std::endian::little);
constexpr uint32_t kVersionBits = 8;

}  // namespace

std::string_view name_of(AttributeType type) {
  switch (type) {
    case AttributeType::Int32:
      return "int32";
    case AttributeType::Int64:
      return "int64";
    case AttributeType::UInt64:
      return "uint64";
    case AttributeType::Float32:
      return "float32";
    case AttributeType::Float64:
      return "float64";
  }
  GPUEMU_UNREACHABLE();
}

size_t byte_size(AttributeType type) {
  return type == AttributeType::Int32 || type == AttributeType::Float32 ? 4 : 8;
}

size_t AttributeSchema::byte_size_of(uint32_t version) const {
  size_t bytes = 0;
  for (const AttributeField& field : fields) {
    if (field.since <= version) bytes += byte_size(field.type);
  }
  return bytes;
}

size_t AttributeSchema::offset_of(size_t field) const {
  size_t bytes = 0;
  for (size_t i = 0; i < field; ++i) bytes += byte_size(fields[i].type);
  return bytes;
}

bool AttributeSchema::has_version(uint32_t version) const {
  return std::ranges::any_of(fields,
                             [&](const AttributeField& field) { return field.since == version; });
}

const std::byte* Attributes::find(std::string_view name, AttributeType type) const {
  size_t at = 0;
  for (const AttributeField& field : schema_->fields) {
    const size_t bytes = byte_size(field.type);
    if (field.name == name) {
      GPUEMU_CHECK(field.type == type);
      return at + bytes <= bytes_.size() ? bytes_.data() + at : nullptr;
    }
    at += bytes;
  }
  GPUEMU_UNREACHABLE();
}

double Attributes::number(std::string_view name) const {
  for (const AttributeField& field : schema_->fields) {
    if (field.name != name) continue;
    if (field.type == AttributeType::Float64) return get<double>(name);
    const std::byte* from = find(name, AttributeType::Float32);
    float value = 0;
    if (from == nullptr) return fallback(name);
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  GPUEMU_UNREACHABLE();
}

double Attributes::fallback(std::string_view name) const {
  for (const AttributeField& field : schema_->fields) {
    if (field.name != name) continue;
    GPUEMU_CHECK(field.fallback.has_value());
    return *field.fallback;
  }
  GPUEMU_UNREACHABLE();
}

Status check_attributes(const AttributeSchema& schema, uint32_t schema_id,
                        std::span<const std::byte> bytes) {
  const uint32_t version = schema_id % (1U << kVersionBits);
  if (schema_id != 0) {
    if (schema_id >> kVersionBits != schema.number || version == 0) {
      return error(ErrorCode::InvalidArgument, "attribute schema {}, expected {}", schema_id,
                   schema.id() == 0 ? "0: the op has no attributes" : std::to_string(schema.id()));
    }
    if (version > schema.version()) {
      return error(ErrorCode::InvalidArgument,
                   "version {} of attribute schema {}, this build knows up to {}: the caller is "
                   "newer than the library",
                   version, schema.number, schema.version());
    }
  }
  const size_t expected = schema_id == 0 ? 0 : schema.byte_size_of(version);
  if (bytes.size() != expected) {
    return error(ErrorCode::InvalidArgument, "{} bytes of attributes, schema {} has {}",
                 bytes.size(), schema_id, expected);
  }
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const AttributeField& field = schema.fields[i];
    if (field.fallback || schema.offset_of(i) < bytes.size()) continue;
    return error(ErrorCode::InvalidArgument,
                 "attribute '{}' is missing and has no default; pack it with schema {}", field.name,
                 schema.id());
  }
  return ok_status();
}

}  // namespace gpuemu
