// Declares the types of the published driver API for arrays and texture objects.
#pragma once

#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

/// CUarray_format: the values for textures of plain texels.
enum class ArrayFormat : unsigned {
  Unsigned8 = 1,
  Unsigned16 = 2,
  Unsigned32 = 3,
  Signed8 = 8,
  Signed16 = 9,
  Signed32 = 10,
  Half = 16,
  Float = 32,
};

/// CUDA_ARRAY_DESCRIPTOR_v2 and CUDA_ARRAY3D_DESCRIPTOR_v2
struct PlaneDescription {
  size_t width, height;
  ArrayFormat format;
  unsigned channels;
};
static_assert(sizeof(PlaneDescription) == 24);
struct ArrayDescription {
  size_t width, height, depth;
  ArrayFormat format;
  unsigned channels, flags;
};
static_assert(sizeof(ArrayDescription) == 40);

/// Members of ResourceDescription.
struct LinearResource {
  Address address;
  ArrayFormat format;
  unsigned channels;
  size_t bytes;
};
struct PlaneResource {
  Address address;
  ArrayFormat format;
  unsigned channels;
  size_t width, height, pitch_bytes;
};

/// CUDA_RESOURCE_DESC
enum class ResourceType : unsigned { Array, MipmappedArray, Linear, Plane };
struct ResourceDescription {
  ResourceType type;
  union {
    int reserved[32];
    ArrayHandle array;
    MipmapHandle mipmap;
    LinearResource linear;
    PlaneResource plane;
  };
  unsigned flags;
};
static_assert(sizeof(ResourceDescription) == 144);

/// CUDA_TEXTURE_DESC
struct TextureDescription {
  unsigned address_modes[3], filter, flags, anisotropy_max, mipmap_filter;
  float mipmap_bias, mipmap_min, mipmap_max, border[4];
  int reserved[12];
};
static_assert(sizeof(TextureDescription) == 104);

/// CUDA_RESOURCE_VIEW_DESC
struct ViewDescription {
  unsigned format;
  size_t width, height, depth;
  unsigned first_level, last_level, first_layer, last_layer, reserved[16];
};
static_assert(sizeof(ViewDescription) == 112);

}  // namespace gpuemu::libcuda
