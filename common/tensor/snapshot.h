// The serialised inputs of a case, which existing clients store and send back as opaque bytes.
//
//   snapshot := count:u16  tensor*count                       integers little-endian
//   tensor   := name:str  rank:u16  size:u32*rank  strides:u16  stride:u32*strides
//               dtype:u8  bytes:u32  data                      packed, row-major
//   str      := bytes:u16  utf-8
#pragma once

#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

/// InvalidArgument if a field is too narrow: above 65535 tensors or name bytes, a size or data of
/// 2^32 or more. Strides are row-major. An empty map is allowed.
Result<std::vector<std::byte>> encode_legacy_snapshot(const NamedTensors& inputs);

/// Corruption for an invalid snapshot: truncated, an unknown dtype, data that does not fit the
/// shape, two inputs of one name, trailing bytes. Strides are read and ignored, because data is
/// packed.
Result<NamedTensors> decode_legacy_snapshot(std::span<const std::byte> bytes);

}  // namespace gpuemu
