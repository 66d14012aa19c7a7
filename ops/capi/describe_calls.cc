// What there is, for C: versions, dtypes, devices, and an op with its variants.
#include <algorithm>
#include <mutex>

#include "kernels/catalog.h"
#include "ops/capi/context.h"
#include "ops/capi/device_info.h"
#include "ops/capi/json_text.h"
#include "ops/vendor/cublas.h"
#include "ops/vendor/cupti.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device_traits.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::give_text;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace gpuemu::opcall {
namespace {

Json versions() {
  std::string driver, runtime;
  if (const auto devices = list_devices()) {
    for (const DeviceProperties& device : *devices) {
      if (!device_traits(device.backend).is_gpu) continue;
      driver = device.driver_version;
      runtime = device.runtime_version;
      break;
    }
  }
  return {{"library", GPUEMU_LIBRARY_VERSION},
          {"abi", GPUEMU_ABI_VERSION},
          {"driver", driver},
          {"cuda_runtime", runtime},
          {"cupti", cupti_version()},
          {"cublas", cublas_version()}};
}

Result<std::vector<DeviceProperties>> devices_of(const char* backend) {
  const std::string wanted = backend == nullptr ? "" : backend;
  if (!wanted.empty() && !is_computing_backend(wanted)) {
    return error(ErrorCode::InvalidArgument,
                 "no backend '{}' has devices; expected \"cuda\", \"emulator\" or NULL", wanted);
  }
  auto devices = list_devices();
  if (devices && !wanted.empty()) {
    std::erase_if(*devices, [&](const DeviceProperties& one) { return one.backend != wanted; });
  }
  return devices;
}

Json operands_json(const std::vector<OperandSpec>& operands) {
  Json list = Json::array();
  for (const OperandSpec& one : operands) {
    list.push_back({{"name", one.name},
                    {"type", std::string(1, one.type)},
                    {"rank_min", one.rank_min},
                    {"rank_max", one.rank_max}});
  }
  return list;
}

Json schema_json(const AttributeSchema& schema) {
  Json fields = Json::array();
  for (const AttributeField& field : schema.fields) {
    Json fallback = nullptr;
    if (field.fallback) fallback = *field.fallback;
    fields.push_back({{"name", field.name},
                      {"type", name_of(field.type)},
                      {"default", fallback},
                      {"since", field.since},
                      {"meaning", field.meaning}});
  }
  return {{"id", schema.id()}, {"fields", fields}};
}

Json variant_json(const OpKind& op, const KernelVariant& variant) {
  Json types = Json::object();
  for (const TypeRule& rule : variant.types) {
    Json dtypes = Json::array();
    for (const DType dtype : rule.dtypes) dtypes.push_back(name_of(dtype));
    types[std::string(1, rule.letter)] = dtypes;
  }
  const BuiltinKernel* const module = find_builtin(variant.module);
  const bool is_librarys = !variant.library.empty();
  const bool is_registered = variant.generation != 0;
  const std::string source = is_librarys         ? variant.library
                             : module != nullptr ? std::string(module->file)
                                                 : variant.module;
  return {{"name", variant.name},
          {"priority", variant.priority},
          {"types", types},
          {"source", source},
          {"schema", schema_json(variant.schema_for(op))},
          {"origin", is_registered ? "registered"
                     : is_librarys ? "library"
                                   : "builtin"}};
}

Json json_of(const OpKind& op, const OpRegistry& registry) {
  Json variants = Json::array();
  for (const KernelVariant* one : registry.variants_of(op)) {
    variants.push_back(variant_json(op, *one));
  }
  return {{"name", op.name},
          {"summary", op.summary},
          {"inputs", operands_json(op.inputs)},
          {"outputs", operands_json(op.outputs)},
          {"in_place", op.in_place},
          {"schema", schema_json(op.schema)},
          {"variants", variants}};
}

template <size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N - 1));
}

/// Up to the last member of the first version.
constexpr size_t kDeviceInfoFirst =
    offsetof(gpuemu_device_info, name) + sizeof(gpuemu_device_info::name);

gpuemu_code unknown_dtype(int32_t dtype) {
  return answer(
      error(ErrorCode::InvalidArgument, "dtype {}, expected 0 to {}", dtype, kDTypeCount - 1));
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
    // Skips formats that only tensor cores use: no tensor of this interface has them.
    if (const auto dtype = dtype_from_name(name)) made.dtypes |= 1U << static_cast<int>(*dtype);
  }
  copy_text(made.driver_version, device.driver_version);
  copy_text(made.runtime_version, device.runtime_version);
  // What the caller does not know, and what this library does not know, stays as it is.
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
  return give_text(gpuemu::opcall::text_of(gpuemu::opcall::versions()), to, room, bytes);
}

gpuemu_code gpuemu_dtype_name(int32_t dtype, const char** name) {
  if (name == nullptr) return missing("name");
  if (!gpuemu::opcall::is_dtype(dtype)) return gpuemu::opcall::unknown_dtype(dtype);
  // A view of a literal, with its 0.
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
  const gpuemu::opcall::Json told = gpuemu::opcall::json_of(*kind, context->registry);
  return give_text(gpuemu::opcall::text_of(told), to, room, bytes);
}

}  // extern "C"
