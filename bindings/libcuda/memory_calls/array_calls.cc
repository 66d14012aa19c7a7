// Implements arrays. An array is an allocation of the device with rows of one length; its layout is
// that of plain memory, which programs cannot observe.
#include <algorithm>
#include <bit>
#include <memory>

#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/transfer.h"
#include "bindings/libcuda/memory_calls/arrays.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

std::optional<Texel> texel_of(ArrayFormat format) {
  using Kind = TextureConfig::Texel;
  switch (format) {
    case ArrayFormat::Unsigned8:
      return Texel{Kind::Unsigned, 8};
    case ArrayFormat::Unsigned16:
      return Texel{Kind::Unsigned, 16};
    case ArrayFormat::Unsigned32:
      return Texel{Kind::Unsigned, 32};
    case ArrayFormat::Signed8:
      return Texel{Kind::Signed, 8};
    case ArrayFormat::Signed16:
      return Texel{Kind::Signed, 16};
    case ArrayFormat::Signed32:
      return Texel{Kind::Signed, 32};
    case ArrayFormat::Half:
      return Texel{Kind::Float, 16};
    case ArrayFormat::Float:
      return Texel{Kind::Float, 32};
  }
  return std::nullopt;
}

namespace {

/// Returns whether the header allows an array of these sizes with these flags.
bool is_possible(const ArrayDescription& what) {
  constexpr size_t kSizeMax = size_t{1} << 20;
  const bool counts = what.channels == 1 || what.channels == 2 || what.channels == 4;
  const bool fits = what.width <= kSizeMax && what.height <= kSizeMax && what.depth <= kSizeMax;
  if (what.width == 0 || !counts || !fits) return false;
  const bool is_layered = (what.flags & kLayered) != 0;
  if ((what.flags & kCubemap) != 0) {
    return what.width == what.height && what.depth != 0 &&
           (is_layered ? what.depth % kCubeFaces == 0 : what.depth == kCubeFaces);
  }
  // Slices without rows are layers; a plane without layers is no volume of depth 0.
  return is_layered ? what.depth != 0 : what.depth == 0 || what.height != 0;
}

int make_array(ArrayHandle* array, const ArrayDescription& what,
               const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    constexpr size_t kPitch = 512;
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (array == nullptr || !is_possible(what)) return CUDA_ERROR_INVALID_VALUE;
    if (!texel_of(what.format)) return unsupported_call("cuArrayCreate of this format");
    if ((what.flags & ~(kLayered | kSurface | kCubemap | kGather)) != 0) {
      return unsupported_call("cuArray3DCreate with these flags");
    }
    auto made = std::make_shared<ArrayState>();
    made->context = place.context;
    made->device = place.device;
    made->what = what;
    made->pitch_bytes = (made->row_bytes() + kPitch - 1) / kPitch * kPitch;
    const uint64_t rows = made->rows() * made->planes();
    if (rows > (uint64_t{1} << 40) / made->pitch_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    Address address = 0;
    if (const int code =
            allocate_memory(place, rows * made->pitch_bytes, MemoryKind::Array, call, &address);
        code != CUDA_SUCCESS) {
      return code;
    }
    made->address = address;
    *array = driver.arrays.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

/// Calls `work` with the array; CUDA_ERROR_INVALID_HANDLE for an unknown one.
template <typename Work>
int with_array(ArrayHandle array, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.arrays.find(array);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(driver, *state);
  });
}

void destroy(Process& driver, ArrayHandle array, const ArrayState& state, const char* call) {
  const uint64_t address = state.address;
  driver.arrays.remove(array);
  release_memory(driver, address, call);
}

/// Destroys the levels of a mipmapped array.
void destroy(Process& driver, const MipmapState& mipmap) {
  for (const ArrayHandle level : mipmap.levels) {
    const auto state = driver.arrays.find(level);
    if (state != nullptr) destroy(driver, level, *state, "cuMipmappedArrayDestroy");
  }
}

}  // namespace

uint64_t ArrayState::texel_bytes() const {
  const auto texel = texel_of(what.format);
  return texel ? texel->bits / 8 * uint64_t{what.channels} : 0;
}

GPUEMU_DRIVER_API int cuArrayCreate_v2(ArrayHandle* array, const PlaneDescription* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return make_array(array, {what->width, what->height, 0, what->format, what->channels, 0});
}

GPUEMU_DRIVER_API int cuArray3DCreate_v2(ArrayHandle* array, const ArrayDescription* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return make_array(array, *what);
}

GPUEMU_DRIVER_API int cuArrayDestroy(ArrayHandle array) {
  return with_array(array, [&](Process& driver, const ArrayState& state) -> int {
    if (state.is_level) return CUDA_ERROR_INVALID_HANDLE;
    destroy(driver, array, state, "cuArrayDestroy");
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuArrayGetDescriptor_v2(PlaneDescription* told, ArrayHandle array) {
  return with_array(array, [&](Process&, const ArrayState& state) -> int {
    const ArrayDescription& what = state.what;
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = {what.width, what.height, what.format, what.channels};
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuArray3DGetDescriptor_v2(ArrayDescription* told, ArrayHandle array) {
  return with_array(array, [&](Process&, const ArrayState& state) -> int {
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = state.what;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMipmappedArrayCreate(MipmapHandle* mipmap, const ArrayDescription* what,
                                             unsigned levels) {
  return driver_call([&](Process& driver) -> int {
    if (mipmap == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool is_volume = what->depth != 0 && (what->flags & (kLayered | kCubemap)) == 0;
    const size_t longest = std::max({what->width, what->height, is_volume ? what->depth : 0});
    const auto most = static_cast<unsigned>(std::bit_width(longest));
    auto made = std::make_shared<MipmapState>();
    ArrayDescription level = *what;
    const auto halve = [](size_t& size) { size = size == 0 ? 0 : std::max<size_t>(size / 2, 1); };
    for (unsigned i = 0; i < std::clamp(levels, 1u, std::max(most, 1u)); ++i) {
      ArrayHandle array = nullptr;
      const int code = make_array(&array, level, "cuMipmappedArrayCreate");
      if (code != CUDA_SUCCESS) {
        destroy(driver, *made);
        return code;
      }
      driver.arrays.find(array)->is_level = true;
      made->levels.push_back(array);
      halve(level.width);
      halve(level.height);
      if (is_volume) halve(level.depth);
    }
    *mipmap = driver.mipmaps.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMipmappedArrayGetLevel(ArrayHandle* array, MipmapHandle mipmap,
                                               unsigned level) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.mipmaps.find(mipmap);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (array == nullptr || level >= state->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *array = state->levels[level];
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMipmappedArrayDestroy(MipmapHandle mipmap) {
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.mipmaps.find(mipmap);
    if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    destroy(driver, *state);
    driver.mipmaps.remove(mipmap);
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
