// C interface: versions, dtypes, devices, and an op with its variants.
#include <algorithm>
#include <mutex>
#include <string>

#include "kernels/catalog.h"
#include "ops/capi/context.h"
#include "ops/capi/device_info.h"
#include "ops/capi/json_text.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device_traits.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::give_text;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace gpuemu::opcall {
namespace {

Result<std::vector<DeviceProperties>> devices_of(const char* backend) {
  const std::string wanted = backend == nullptr ? "" : backend;
  if (!wanted.empty() && !is_computing_backend(wanted)) {
    return error(ErrorCode::InvalidArgument,
                 "no backend '{}' has devices; expected \"cuda\", \"emulator\" or NULL", wanted);
  }
  auto devices = list_devices("", kNoMemoryLimit);  // As for a context without a limit.
  if (devices && !wanted.empty()) {
    std::erase_if(*devices, [&](const DeviceProperties& one) { return one.backend != wanted; });
  }
  return devices;
}

template <size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N - 1));
}

/// Ends with the last member of the first version.
constexpr size_t kDeviceInfoFirst =
    offsetof(gpuemu_device_info, name) + sizeof(gpuemu_device_info::name);

gpuemu_code unknown_dtype(int32_t dtype) {
  return answer(
      error(ErrorCode::InvalidArgument, "dtype {}, expected 0 to {}", dtype, kDTypeCount - 1));
}

Result<std::string> source_of(const OpKind& op, std::string_view name, const OpRegistry& registry) {
  const auto variants = registry.variants_of(op);
  const auto found = std::ranges::find(variants, name, &KernelVariant::name);
  if (found == variants.end()) {
    return error(ErrorCode::NotFound, "{} has no variant '{}'", op.name, name);
  }
  const KernelVariant& variant = **found;
  if (!variant.library.empty()) {
    return error(ErrorCode::Unsupported, "{}: '{}' is a library, which has no text", op.name, name);
  }
  if (!variant.source.empty()) return std::string(variant.source);
  const BuiltinKernel* const module = find_builtin(variant.module);
  if (module != nullptr) return module->ptx();
  return error(ErrorCode::NotFound, "{}, '{}': the module '{}' does not exist", op.name, name,
               variant.module);
}

bool is_dtype(int32_t number) { return number >= 0 && number < static_cast<int32_t>(kDTypeCount); }

}  // namespace

gpuemu_code give_device(const DeviceProperties& device, gpuemu_device_info* info) {
  if (info == nullptr) return missing("info");
  if (info->struct_bytes < kDeviceInfoFirst) {
    return answer(error(ErrorCode::InvalidArgument,
                        "info.struct_bytes is {}, expected {}: its sizeof", info->struct_bytes,
                        sizeof(gpuemu_device_info)));
  }
  gpuemu_device_info made{};
  made.struct_bytes = info->struct_bytes;
  made.sm = device.sm;
  made.multiprocessors = device.multiprocessors;
  made.is_emulator = device.backend == gpuemu::kEmulatorBackend ? 1 : 0;
  made.memory_bytes = device.memory_bytes;
  copy_text(made.backend, device.backend);
  copy_text(made.name, device.name);
  made.memory_free_bytes = device.memory_free_bytes;
  made.index = static_cast<uint32_t>(device.index);
  for (const std::string& name : device.dtypes) {
    // Skip formats that only tensor cores use, because no tensor of this interface has them.
    if (const auto dtype = dtype_from_name(name)) made.dtypes |= 1U << static_cast<int>(*dtype);
  }
  copy_text(made.driver_version, device.driver_version);
  copy_text(made.runtime_version, device.runtime_version);
  // Members that only one side knows stay unchanged.
  std::memcpy(info, &made, std::min<size_t>(info->struct_bytes, sizeof made));
  return GPUEMU_OK;
}

gpuemu_code give_text(const std::string& text, char* to, size_t room, size_t* bytes) {
  if (bytes == nullptr) return missing("bytes");
  *bytes = text.size() + 1;
  if (room < *bytes || to == nullptr) {
    return answer(error(ErrorCode::ResourceExhausted, "the text has {} bytes, there is room for {}",
                        *bytes, to == nullptr ? 0 : room));
  }
  std::memcpy(to, text.c_str(), *bytes);
  return GPUEMU_OK;
}

}  // namespace gpuemu::opcall

extern "C" {

const char* gpuemu_version(void) { return GPUEMU_LIBRARY_VERSION; }

gpuemu_code gpuemu_versions_json(char* to, size_t room, size_t* bytes) {
  return give_text(gpuemu::opcall::versions_json(), to, room, bytes);
}

gpuemu_code gpuemu_dtype_name(int32_t dtype, const char** name) {
  if (name == nullptr) return missing("name");
  if (!gpuemu::opcall::is_dtype(dtype)) return gpuemu::opcall::unknown_dtype(dtype);
  // A view of a string literal, which is zero-terminated.
  *name = gpuemu::name_of(static_cast<gpuemu::DType>(dtype)).data();
  return GPUEMU_OK;
}

gpuemu_code gpuemu_dtype_bytes(int32_t dtype, uint32_t* bytes) {
  if (bytes == nullptr) return missing("bytes");
  if (!gpuemu::opcall::is_dtype(dtype)) return gpuemu::opcall::unknown_dtype(dtype);
  *bytes = static_cast<uint32_t>(gpuemu::byte_size(static_cast<gpuemu::DType>(dtype)));
  return GPUEMU_OK;
}

uint32_t gpuemu_dtype_count(void) { return static_cast<uint32_t>(gpuemu::kDTypeCount); }

gpuemu_code gpuemu_device_count(const char* backend, uint32_t* count) {
  if (count == nullptr) return missing("count");
  const auto devices = gpuemu::opcall::devices_of(backend);
  if (!devices) return answer(devices.error());
  *count = static_cast<uint32_t>(devices->size());
  return GPUEMU_OK;
}

gpuemu_code gpuemu_device_at(const char* backend, uint32_t number, gpuemu_device_info* info) {
  const auto devices = gpuemu::opcall::devices_of(backend);
  if (!devices) return answer(devices.error());
  if (number >= devices->size()) {
    return answer(gpuemu::error(gpuemu::ErrorCode::NotFound, "no device {}: there are {}", number,
                                devices->size()));
  }
  return gpuemu::opcall::give_device((*devices)[number], info);
}

gpuemu_code gpuemu_op_json(gpuemu_context* context, uint32_t op, char* to, size_t room,
                           size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::OpKind* const kind = context->registry.numbered(op);
  if (kind == nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::NotFound, "op {}, expected 1 to {}", op,
                                context->registry.count()));
  }
  return give_text(gpuemu::opcall::op_json(*kind, context->registry), to, room, bytes);
}

// NOLINTNEXTLINE(readability-function-size): the C interface passes six values one by one.
gpuemu_code gpuemu_variant_source(gpuemu_context* context, uint32_t op, const char* variant,
                                  char* to, size_t room, size_t* bytes) {
  if (!is_usable(context)) return refuse(context);
  if (variant == nullptr) return missing("variant");
  const gpuemu::OpKind* const kind = context->registry.numbered(op);
  if (kind == nullptr) {
    return answer(gpuemu::error(gpuemu::ErrorCode::NotFound, "op {}, expected 1 to {}", op,
                                context->registry.count()));
  }
  const auto text = gpuemu::opcall::source_of(*kind, variant, context->registry);
  return text ? give_text(*text, to, room, bytes) : answer(text.error());
}

}  // extern "C"
