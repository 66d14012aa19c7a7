// Converts between the formats of channels of the runtime and the driver.
#pragma once

#include <optional>

#include "bindings/libcudart/abi.h"
#include "bindings/libcudart/driver.h"

namespace gpuemu::libcudart {

struct Texels {
  libcuda::ArrayFormat format;
  unsigned channels;
};
/// Returns nothing for channels of different sizes and for formats that textures do not support.
std::optional<Texels> texels_of(const ChannelFormat& given);
ChannelFormat told_format(libcuda::ArrayFormat format, unsigned channels);

}  // namespace gpuemu::libcudart
