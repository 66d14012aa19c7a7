#include "bindings/device_pipe/host.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "common/pipes/members.h"
#include "runtime/backends/backends.h"
#include "runtime/compile/compile.h"
#include "runtime/compile/registers.h"
#include "runtime/compile/source_text/unset_constants.h"
#include "runtime/device/finding_json.h"
#include "runtime/profile/profile.h"
#include "runtime/ptx/parse.h"
#include "runtime/ptx/variables.h"

namespace gpuemu::host {
namespace {

using pipes::Json;
using pipes::kDataBytesMax;
using pipes::Message;
using pipes::optional;
using pipes::required;

Json json_of(const DeviceProperties& device) {
  return {{"backend", device.backend},
          {"name", device.name},
          {"sm", device.sm},
          {"memory_bytes", device.memory_bytes},
          {"memory_free_bytes", device.memory_free_bytes},
          {"multiprocessors", device.multiprocessors},
          {"shared_bytes_per_block_max", device.shared_bytes_per_block_max},
          {"driver_version", device.driver_version},
          {"checks_bounds", device.checks_bounds}};
}

Result<Dim3> dim_of(const Json& request, const char* name) {
  const auto sizes = GPUEMU_TRY(required<std::vector<uint32_t>>(request, name));
  if (sizes.empty() || sizes.size() > 3) {
    return error(ErrorCode::InvalidArgument, "'{}' has {} sizes, expected 1 to 3", name,
                 sizes.size());
  }
  Dim3 dim{sizes[0], 1, 1};
  if (sizes.size() > 1) dim.y = sizes[1];
  if (sizes.size() > 2) dim.z = sizes[2];
  return dim;
}

/// One process, one device, opened by the first request.
class Host {
 public:
  Result<Message> answer(const Message& request);

 private:
  Result<Json> open(const Json& request);
  Result<Json> compile(const Json& request);
  Result<Json> allocate(const Json& request);
  Result<Json> free(const Json& request);
  Result<Json> upload(const Message& request);
  Result<Message> download(const Json& request);
  Result<Json> load(const Message& request);
  Result<Json> unload(const Json& request);
  Result<Json> launch(const Message& request);
  Result<LaunchConfig> configure(const Message& request) const;
  Status set_symbols(const Message& request, ModuleId module, size_t from);

  std::unique_ptr<Device> device_;
  std::map<ModuleId, ptx::Module> variables_;  ///< Only the variables of each module.
};

Result<Json> Host::open(const Json& request) {
  DeviceRequest wanted;
  wanted.backend = GPUEMU_TRY(optional(request, "backend", wanted.backend));
  wanted.index = GPUEMU_TRY(optional(request, "index", wanted.index));
  wanted.sm = GPUEMU_TRY(optional(request, "sm", wanted.sm));
  wanted.threads = GPUEMU_TRY(optional(request, "threads", wanted.threads));
  wanted.memory_limit_bytes =
      GPUEMU_TRY(optional(request, "memory_limit_bytes", wanted.memory_limit_bytes));
  wanted.registers = registers_by_ptxas;
  device_ = GPUEMU_TRY(open_device(wanted));
  DeviceProperties now = device_->properties();
  now.memory_free_bytes = GPUEMU_TRY(device_->memory()).free_bytes;
  return json_of(now);
}

Result<Json> Host::compile(const Json& request) {
  CompileRequest wanted;
  wanted.path = GPUEMU_TRY(required<std::string>(request, "path"));
  wanted.source = GPUEMU_TRY(optional(request, "source", std::string()));
  wanted.arch = GPUEMU_TRY(optional(request, "arch", wanted.arch));
  wanted.include_dirs = GPUEMU_TRY(optional(request, "include_dirs", std::vector<std::string>()));
  wanted.flags = GPUEMU_TRY(optional(request, "flags", std::vector<std::string>()));
  wanted.name_expressions =
      GPUEMU_TRY(optional(request, "name_expressions", std::vector<std::string>()));
  wanted.cache_folder = GPUEMU_TRY(optional(request, "cache_folder", std::string()));
  const CompiledModule made = GPUEMU_TRY(compile_source(wanted));
  return Json{{"ptx", made.ptx}, {"lowered", made.lowered}, {"compiler", made.compiler}};
}

Result<Json> Host::allocate(const Json& request) {
  const auto bytes = GPUEMU_TRY(required<uint64_t>(request, "bytes"));
  const auto name = GPUEMU_TRY(optional(request, "name", std::string("buffer")));
  const uint64_t address = GPUEMU_TRY(device_->allocate(bytes, name));
  return Json{{"address", address}};
}

Result<Json> Host::free(const Json& request) {
  const auto address = GPUEMU_TRY(required<uint64_t>(request, "address"));
  GPUEMU_TRY(device_->free(address));
  return Json::object();
}

Result<Json> Host::upload(const Message& request) {
  const auto address = GPUEMU_TRY(required<uint64_t>(request.json, "address"));
  GPUEMU_TRY(device_->upload(address, request.data));
  return Json::object();
}

Result<Message> Host::download(const Json& request) {
  const auto address = GPUEMU_TRY(required<uint64_t>(request, "address"));
  const auto bytes = GPUEMU_TRY(required<uint64_t>(request, "bytes"));
  if (bytes > kDataBytesMax) {
    return error(ErrorCode::InvalidArgument, "{} bytes in one message, the limit is {}", bytes,
                 kDataBytesMax);
  }
  Message reply{Json::object(), std::vector<std::byte>(bytes)};
  GPUEMU_TRY(device_->download(reply.data, address));
  return reply;
}

/// Loads the PTX in the request's data. The reply has the PTX types of parameters, which Device
/// does not report.
Result<Json> Host::load(const Message& request) {
  const std::string ptx(reinterpret_cast<const char*>(request.data.data()), request.data.size());
  const auto name = GPUEMU_TRY(optional(request.json, "name", std::string("module")));
  const ptx::Module parsed = GPUEMU_TRY(ptx::parse(ptx, name));
  const ModuleId module = GPUEMU_TRY(device_->load_module(ptx, name));
  std::set<std::string> unset;
  const auto source = GPUEMU_TRY(optional(request.json, "source", std::string()));
  if (!source.empty()) unset = unset_constants(parsed, source);
  for (const std::string& constant : unset) {
    const ModuleVariable at = GPUEMU_TRY(device_->variable(module, constant));
    GPUEMU_TRY(device_->forget(at.address, at.bytes));
  }
  variables_[module].variables = parsed.variables;
  Json entries = Json::object();
  for (const EntryInfo& entry : GPUEMU_TRY(device_->entries(module))) {
    Json params = Json::array();
    const auto function = std::ranges::find(parsed.functions, entry.name, &ptx::Function::name);
    for (size_t i = 0; i < entry.params.size(); ++i) {
      const bool known = function != parsed.functions.end() && i < function->params.size() &&
                         function->params[i].dims.empty();
      params.push_back({{"name", entry.params[i].name},
                        {"bytes", entry.params[i].bytes},
                        {"type", known ? ptx::name_of(function->params[i].type) : ""}});
    }
    entries[entry.name] = {{"params", params},
                           {"static_shared_bytes", entry.static_shared_bytes},
                           {"required_block", entry.required_block},
                           {"max_block", entry.max_block}};
  }
  return Json{
      {"module", module}, {"entries", entries}, {"warnings", parsed.warnings}, {"unset", unset}};
}

Result<Json> Host::unload(const Json& request) {
  const auto module = GPUEMU_TRY(required<uint64_t>(request, "module"));
  GPUEMU_TRY(device_->unload_module(module));
  variables_.erase(module);
  return Json::object();
}

/// Reads the launch configuration. `arg_bytes` divides the request's data into arguments.
Result<LaunchConfig> Host::configure(const Message& request) const {
  LaunchConfig config;
  config.entry = GPUEMU_TRY(required<std::string>(request.json, "entry"));
  config.grid = GPUEMU_TRY(dim_of(request.json, "grid"));
  config.block = GPUEMU_TRY(dim_of(request.json, "block"));
  config.dynamic_shared_bytes = GPUEMU_TRY(optional(request.json, "shared_bytes", uint32_t{0}));
  config.timeout_ms = GPUEMU_TRY(optional(request.json, "timeout_ms", config.timeout_ms));
  config.profile = GPUEMU_TRY(optional(request.json, "profile", false));
  const auto checks = GPUEMU_TRY(optional(request.json, "sanitize", names_of(config.sanitize)));
  config.sanitize = GPUEMU_TRY(device_checks_from_names(checks));
  size_t at = 0;
  for (const uint32_t bytes :
       GPUEMU_TRY(required<std::vector<uint32_t>>(request.json, "arg_bytes"))) {
    if (bytes > request.data.size() - at) {
      return error(ErrorCode::InvalidArgument, "'arg_bytes' are more than the data's {} bytes",
                   request.data.size());
    }
    const auto first = request.data.begin() + static_cast<std::ptrdiff_t>(at);
    config.args.emplace_back(first, first + bytes);
    at += bytes;
  }
  return config;
}

/// Sets variables. `symbols` names them and divides the data after the arguments into their values.
Status Host::set_symbols(const Message& request, ModuleId module, size_t from) {
  const auto symbols = request.json.find("symbols");
  if (symbols == request.json.end()) return ok_status();
  if (!symbols->is_array()) {
    return error(ErrorCode::InvalidArgument, "'symbols' is not a list of names and sizes");
  }
  for (const Json& one : *symbols) {
    const auto name = GPUEMU_TRY(required<std::string>(one, "name"));
    const auto bytes = GPUEMU_TRY(required<uint64_t>(one, "bytes"));
    const ptx::Variable& variable = *GPUEMU_TRY(ptx::find_variable(variables_[module], name));
    const ModuleVariable at = GPUEMU_TRY(device_->variable(module, variable.name));
    if (bytes > at.bytes || bytes > request.data.size() - from) {
      return error(ErrorCode::InvalidArgument, "the variable '{}' has {} bytes, its value has {}",
                   name, at.bytes, bytes);
    }
    GPUEMU_TRY(device_->upload(at.address, std::span(request.data).subspan(from, bytes)));
    from += bytes;
  }
  return ok_status();
}

Json json_of(const LineCount& line) {
  return {{"file", line.file},
          {"line", line.line},
          {"thread_instructions", line.count.threads},
          {"warp_instructions", line.count.warps},
          {"divergent_branches", line.count.divergent},
          {"global_requests", line.count.memory.global_requests},
          {"global_bytes", line.count.memory.global_bytes},
          {"global_sectors", line.count.memory.sectors},
          {"shared_requests", line.count.memory.shared_requests},
          {"bank_conflicts", line.count.memory.bank_conflicts}};
}

Result<Json> Host::launch(const Message& request) {
  const LaunchConfig config = GPUEMU_TRY(configure(request));
  const auto module = GPUEMU_TRY(required<uint64_t>(request.json, "module"));
  size_t arguments = 0;
  for (const auto& arg : config.args) arguments += arg.size();
  GPUEMU_TRY(set_symbols(request, module, arguments));
  const LaunchReport report = GPUEMU_TRY(device_->launch(module, config));
  Json findings = Json::array(), lines = Json::array();
  for (const DeviceFinding& finding : report.findings) findings.push_back(json_of(finding));
  if (report.profile != nullptr) {
    for (const LineCount& line : by_line(*report.profile)) lines.push_back(json_of(line));
  }
  // After a fault this process cannot use a GPU; the client needs another process.
  const Result<MemoryInfo> after = device_->memory();
  const bool lost = !after && after.error().code == ErrorCode::Unavailable;
  return Json{{"findings", findings},
              {"lost", lost},
              {"printed", report.printed},
              {"thread_instructions", report.thread_instructions},
              {"elapsed_ns", report.elapsed_ns},
              {"profile", lines}};
}

Result<Message> Host::answer(const Message& request) {
  const auto wrap = [](Result<Json> json) -> Result<Message> {
    return Message{GPUEMU_TRY(std::move(json)), {}};
  };
  const auto name = GPUEMU_TRY(required<std::string>(request.json, "request"));
  if (name == "open") return wrap(open(request.json));
  if (name == "compile") return wrap(compile(request.json));
  if (device_ == nullptr) {
    return error(ErrorCode::InvalidArgument, "'{}' before a device is open", name);
  }
  if (name == "allocate") return wrap(allocate(request.json));
  if (name == "free") return wrap(free(request.json));
  if (name == "upload") return wrap(upload(request));
  if (name == "download") return download(request.json);
  if (name == "load") return wrap(load(request));
  if (name == "unload") return wrap(unload(request.json));
  if (name == "launch") return wrap(launch(request));
  return error(ErrorCode::InvalidArgument,
               "unknown request '{}', expected open, compile, allocate, free, upload, download, "
               "load, unload or launch",
               name);
}

}  // namespace

Status serve(int in, int out) {
  Host host;
  return pipes::serve(in, out, [&](const Message& request) { return host.answer(request); });
}

}  // namespace gpuemu::host
