#include "ops/capi/json_text.h"

#include <nlohmann/json.hpp>

#include "kernels/catalog.h"
#include "ops/capi/op_call.h"
#include "ops/dispatch/operand_json.h"
#include "ops/vendor/cublas.h"
#include "ops/vendor/cupti.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device_traits.h"
#include "runtime/device/finding_json.h"

namespace gpuemu::opcall {
namespace {

using Json = nlohmann::json;

/// Serialises JSON. Bytes of callers' names that are not UTF-8 become U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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

Json schema_json(const AttributeSchema& schema) {
  Json fields = Json::array();
  for (const AttributeField& field : schema.fields) fields.push_back(attribute_json(field));
  return {{"id", schema.id()}, {"fields", fields}};
}

Json variant_json(const OpKind& op, const KernelVariant& variant) {
  const BuiltinKernel* const module = find_builtin(variant.module);
  const bool is_librarys = !variant.library.empty();
  const bool is_registered = variant.generation != 0;
  const std::string source = is_librarys         ? variant.library
                             : module != nullptr ? std::string(module->file)
                                                 : variant.module;
  return {{"name", variant.name},
          {"priority", variant.priority},
          {"types", types_json(variant)},
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

Json dtypes_of_call(const TypeBinding& types) {
  Json dtypes = Json::object();
  for (size_t i = 0; i < types.size(); ++i) {
    const auto [letter, dtype] = types.at(i);
    dtypes[std::string(1, letter)] = name_of(dtype);
  }
  return dtypes;
}

Json json_of(const LoggedCall& call, bool times) {
  const DispatchRecord& record = call.record;
  Json microseconds = nullptr;
  if (times && record.microseconds >= 0) microseconds = record.microseconds;
  return {{"sequence", call.sequence},
          {"op", record.op},
          {"variant", record.variant},
          {"why", record.why},
          {"inputs", record.inputs},
          {"outputs", record.outputs},
          {"dtypes", dtypes_of_call(record.types)},
          {"stream", record.stream},
          {"thread", call.thread},
          {"captured", record.is_captured},
          {"microseconds", microseconds}};
}

}  // namespace

std::string versions_json() { return text_of(versions()); }

std::string op_json(const OpKind& op, const OpRegistry& registry) {
  return text_of(json_of(op, registry));
}

std::string findings_json(std::span<const DeviceFinding> findings) {
  Json list = Json::array();
  for (const DeviceFinding& one : findings) {
    list.push_back(gpuemu::json_of(one));
    if (one.call != 0) list.back()["call"] = one.call;
  }
  return text_of(list);
}

std::string allocations_json(std::span<const std::pair<uint64_t, std::string>> allocations) {
  Json list = Json::array();
  for (const auto& [bytes, name] : allocations) list.push_back({name, bytes});
  return text_of(list);
}

std::string profile_json(const ProfileResult& result, const MemoryProfile& memory) {
  Json json = Json::parse(result.json());
  json["memory"] = {{"peak_requested_bytes", memory.peak.requested},
                    {"peak_reserved_bytes", memory.peak.reserved},
                    {"allocations", memory.allocations},
                    {"frees", memory.frees},
                    {"by_name", memory.by_name}};
  return text_of(json);
}

std::string calls_json(std::span<const LoggedCall> calls, bool times, uint64_t dropped) {
  Json records = Json::array();
  for (const LoggedCall& call : calls) records.push_back(json_of(call, times));
  return text_of({{"records", records}, {"dropped", dropped}});
}

}  // namespace gpuemu::opcall
