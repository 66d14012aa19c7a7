// The snapshot codec. Every length is checked before it is used.
#include "common/tensor/snapshot.h"

#include <limits>

#include "common/base/bytes.h"
#include "common/base/limits.h"

namespace gpuemu {
namespace {

template <typename Field>
Status write_narrow(ByteWriter& out, uint64_t value, const std::string& name, const char* what) {
  if (value > std::numeric_limits<Field>::max()) {
    return error(ErrorCode::InvalidArgument,
                 "input '{}': {} {} does not fit a snapshot, at most {}", name, what, value,
                 std::numeric_limits<Field>::max());
  }
  out.write(static_cast<Field>(value));
  return ok_status();
}

void write_bytes(ByteWriter& out, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) out.write(byte);
}

Status encode_tensor(ByteWriter& out, const std::string& name, const Tensor& tensor) {
  GPUEMU_TRY(write_narrow<uint16_t>(out, name.size(), name, "name length"));
  write_bytes(out, std::as_bytes(std::span(name)));
  GPUEMU_TRY(write_narrow<uint16_t>(out, tensor.shape.size(), name, "rank"));
  for (const int64_t size : tensor.shape) {
    GPUEMU_TRY(write_narrow<uint32_t>(out, static_cast<uint64_t>(size), name, "size"));
  }
  out.write(static_cast<uint16_t>(tensor.shape.size()));
  for (const int64_t stride : row_major_strides(tensor.shape)) {
    GPUEMU_TRY(write_narrow<uint32_t>(out, static_cast<uint64_t>(stride), name, "stride"));
  }
  out.write(static_cast<uint8_t>(tensor.dtype));
  GPUEMU_TRY(write_narrow<uint32_t>(out, tensor.data.size(), name, "data length"));
  write_bytes(out, tensor.data);
  return ok_status();
}

/// Reads the next `count` bytes. Differs from read_blob, whose length is wider.
Result<std::vector<std::byte>> read_bytes(ByteReader& in, size_t count) {
  if (count > in.remaining()) {
    return error(ErrorCode::Corruption, "{} bytes announced, {} left", count, in.remaining());
  }
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = GPUEMU_TRY(in.read<std::byte>());
  return bytes;
}

Result<Tensor> decode_tensor(ByteReader& in) {
  Tensor tensor;
  const auto rank = GPUEMU_TRY(in.read<uint16_t>());
  if (rank > kRankMax) {
    return error(ErrorCode::Corruption, "rank {}, the limit is {}", rank, kRankMax);
  }
  for (uint16_t i = 0; i < rank; ++i) tensor.shape.push_back(GPUEMU_TRY(in.read<uint32_t>()));
  const auto strides = GPUEMU_TRY(in.read<uint16_t>());
  for (uint16_t i = 0; i < strides; ++i) GPUEMU_TRY(in.read<uint32_t>());
  const auto dtype = GPUEMU_TRY(in.read<uint8_t>());
  if (dtype >= kDTypeCount) return error(ErrorCode::Corruption, "dtype {} is unknown", dtype);
  tensor.dtype = static_cast<DType>(dtype);
  const auto bytes = GPUEMU_TRY(in.read<uint32_t>());
  auto count = checked_element_count(tensor.shape);
  if (!count) return Error{ErrorCode::Corruption, count.error().message};
  const uint64_t expected = static_cast<uint64_t>(*count) * byte_size(tensor.dtype);
  if (bytes != expected) {
    return error(ErrorCode::Corruption, "{} bytes of data, shape {} of {} has {}", bytes,
                 to_string(tensor.shape), name_of(tensor.dtype), expected);
  }
  tensor.data = GPUEMU_TRY(read_bytes(in, bytes));
  return tensor;
}

Result<NamedTensors> decode(ByteReader& in) {
  NamedTensors inputs;
  const auto count = GPUEMU_TRY(in.read<uint16_t>());
  for (uint16_t i = 0; i < count; ++i) {
    const auto length = GPUEMU_TRY(in.read<uint16_t>());
    const auto raw = GPUEMU_TRY(read_bytes(in, length));
    std::string name(reinterpret_cast<const char*>(raw.data()), raw.size());
    auto tensor = decode_tensor(in);
    if (!tensor) return tensor.error().with_context("input '" + name + "'");
    if (!inputs.try_emplace(name, *std::move(tensor)).second) {
      return error(ErrorCode::Corruption, "two inputs are named '{}'", name);
    }
  }
  if (in.remaining() > 0) {
    return error(ErrorCode::Corruption, "{} bytes after the last input", in.remaining());
  }
  return inputs;
}

}  // namespace

Result<std::vector<std::byte>> encode_legacy_snapshot(const NamedTensors& inputs) {
  if (inputs.size() > std::numeric_limits<uint16_t>::max()) {
    return error(ErrorCode::InvalidArgument, "{} inputs do not fit a snapshot, at most 65535",
                 inputs.size());
  }
  ByteWriter out;
  out.write(static_cast<uint16_t>(inputs.size()));
  for (const auto& [name, tensor] : inputs) GPUEMU_TRY(encode_tensor(out, name, tensor));
  return out.take();
}

Result<NamedTensors> decode_legacy_snapshot(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  auto inputs = decode(in);
  // The reader's message is about missing bytes; add that the snapshot is invalid.
  if (!inputs) return Error{ErrorCode::Corruption, "snapshot: " + inputs.error().message};
  return inputs;
}

}  // namespace gpuemu
