#include "bindings/libcudart/calls/channel_formats.h"

#include <bit>

namespace gpuemu::libcudart {

using libcuda::ArrayFormat;

std::optional<Texels> texels_of(const ChannelFormat& given) {
  const int bits[] = {given.x, given.y, given.z, given.w};
  unsigned channels = 0;
  while (channels < 4 && bits[channels] != 0) {
    if (bits[channels] != given.x) return std::nullopt;
    ++channels;
  }
  for (unsigned i = channels; i < 4; ++i) {
    if (bits[i] != 0) return std::nullopt;
  }
  const bool is_size = given.x == 8 || given.x == 16 || given.x == 32;
  if (!is_size || channels == 0 || channels == 3) return std::nullopt;
  const unsigned size = static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(given.x))) - 3;
  switch (given.kind) {
    case ChannelKind::Unsigned:
      return Texels{static_cast<ArrayFormat>(1 + size), channels};
    case ChannelKind::Signed:
      return Texels{static_cast<ArrayFormat>(8 + size), channels};
    case ChannelKind::Float:
      if (size == 0) return std::nullopt;
      return Texels{size == 1 ? ArrayFormat::Half : ArrayFormat::Float, channels};
  }
  return std::nullopt;
}

ChannelFormat told_format(ArrayFormat format, unsigned channels) {
  const auto number = static_cast<unsigned>(format);
  ChannelFormat told{};
  int bits = 0;
  if (format == ArrayFormat::Half || format == ArrayFormat::Float) {
    told.kind = ChannelKind::Float;
    bits = format == ArrayFormat::Half ? 16 : 32;
  } else {
    told.kind = number < 8 ? ChannelKind::Unsigned : ChannelKind::Signed;
    bits = 8 << (number < 8 ? number - 1 : number - 8);
  }
  int* const all[] = {&told.x, &told.y, &told.z, &told.w};
  for (unsigned i = 0; i < channels && i < 4; ++i) *all[i] = bits;
  return told;
}

}  // namespace gpuemu::libcudart
