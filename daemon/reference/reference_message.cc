// nlohmann::json, used without its exceptions.
#include "daemon/reference/reference_message.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/base/limits.h"

namespace gpuemu {
namespace {

using nlohmann::json;

Error corrupt(std::string_view what) {
  return error(ErrorCode::Corruption, "reference process: {}", what);
}

json encode_tensor(const ReferenceTensor& tensor) {
  return {{"name", tensor.name},
          {"dtype", std::string(name_of(tensor.dtype))},
          {"shape", tensor.shape},
          {"offset", tensor.arena_offset}};
}

Result<ReferenceTensor> decode_tensor(const json& record, uint64_t arena_bytes) {
  if (!record.is_object() || !record.contains("name") || !record["name"].is_string() ||
      !record.contains("dtype") || !record["dtype"].is_string() || !record.contains("shape") ||
      !record["shape"].is_array() || !record.contains("offset") ||
      !record["offset"].is_number_unsigned()) {
    return corrupt("a tensor without name, dtype, shape or offset");
  }
  ReferenceTensor tensor;
  tensor.name = record["name"].get<std::string>();
  const auto dtype = dtype_from_name(record["dtype"].get_ref<const std::string&>());
  if (!dtype) return corrupt("unknown dtype");
  tensor.dtype = *dtype;
  for (const json& size : record["shape"]) {
    if (!size.is_number_integer()) return corrupt("a shape that is not of integers");
    tensor.shape.push_back(size.get<int64_t>());
  }
  tensor.arena_offset = record["offset"].get<uint64_t>();
  const Result<int64_t> checked = checked_element_count(tensor.shape);
  if (!checked) {
    return error(ErrorCode::Compile, "the reference's output '{}': {}", tensor.name,
                 checked.error().message);
  }
  const uint64_t bytes = static_cast<uint64_t>(*checked) * byte_size(tensor.dtype);
  if (tensor.arena_offset > arena_bytes || bytes > arena_bytes - tensor.arena_offset) {
    if (bytes > 0) return corrupt("a tensor outside the arena");
  }
  return tensor;
}

Result<std::vector<ReferenceTensor>> decode_tensors(const json& message, const char* member,
                                                    uint64_t arena_bytes) {
  std::vector<ReferenceTensor> tensors;
  const auto found = message.find(member);
  if (found == message.end() || !found->is_array()) return corrupt("a reply without tensors");
  if (found->size() > kTensorsMax) {
    return error(ErrorCode::Compile, "the reference returned {} outputs, the limit is {}",
                 found->size(), kTensorsMax);
  }
  for (const json& record : *found) {
    tensors.push_back(GPUEMU_TRY(decode_tensor(record, arena_bytes)));
  }
  return tensors;
}

bool is_list_of_names(const json& list) {
  return list.is_array() && std::ranges::all_of(list, &json::is_string);
}

Result<ReferenceReads> decode_reads(const json& record) {
  const bool good = record.is_object() && record.contains("complete") &&
                    record["complete"].is_boolean() && record.contains("files") &&
                    is_list_of_names(record["files"]);
  if (!good) return corrupt("files that are not a list of names");
  return ReferenceReads{record["files"].get<std::vector<std::string>>(),
                        record["complete"].get<bool>()};
}

ErrorCode code_of(std::string_view name) {
  for (ErrorCode code : {ErrorCode::Compile, ErrorCode::Timeout, ErrorCode::ResourceExhausted,
                         ErrorCode::Io, ErrorCode::InvalidArgument}) {
    if (name == name_of(code)) return code;
  }
  return ErrorCode::Internal;
}

}  // namespace

std::string encode_request(const ReferenceRequest& request) {
  json message = {{"script", request.script},
                  {"function", request.function.empty() ? "reference" : request.function},
                  {"process_only", request.process_only},
                  {"inputs", json::array()},
                  {"kwargs", request.kwargs},
                  {"numbers", json::object()},
                  {"integers", request.integers},
                  {"output_names", request.output_names},
                  {"want_scale", request.want_scale},
                  {"may_judge", request.may_judge},
                  {"judged", json::array()},
                  {"result_offset", request.result_offset},
                  {"timeout_ms", request.timeout_ms},
                  {"memory_bytes", request.memory_bytes}};
  for (const ReferenceTensor& input : request.inputs) {
    message["inputs"].push_back(encode_tensor(input));
  }
  for (const ReferenceTensor& output : request.judged) {
    message["judged"].push_back(encode_tensor(output));
  }
  // As text: JSON has no infinities and no NaN, Python's float() reads both.
  for (const auto& [name, number] : request.numbers) {
    message["numbers"][name] = fmt::format("{}", number);
  }
  return message.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

Result<std::optional<ReferenceReply>> decode_line(std::string_view line, uint64_t arena_bytes) {
  const json message = json::parse(line, nullptr, false);
  if (!message.is_object()) return corrupt("a line that is not a JSON object");
  if (message.contains("ready")) return std::optional<ReferenceReply>();
  if (message.contains("stale")) return error(ErrorCode::Cancelled, "a loaded module has changed");
  if (message.contains("fatal") && message["fatal"].is_string()) {
    return error(ErrorCode::Unavailable,
                 "{}; install numpy for it (pip install numpy) or name another interpreter in "
                 "[runtime].python",
                 message["fatal"].get_ref<const std::string&>());
  }
  if (!message.contains("ok") || !message["ok"].is_boolean()) return corrupt("an unknown message");
  if (!message["ok"].get<bool>()) {
    const std::string code = message.value("code", json("")).is_string()
                                 ? message.value("code", std::string())
                                 : std::string();
    if (!message.contains("message") || !message["message"].is_string()) {
      return corrupt("an error without a message");
    }
    return Error{code_of(code), message["message"].get<std::string>()};
  }
  ReferenceReply reply;
  reply.outputs = GPUEMU_TRY(decode_tensors(message, "outputs", arena_bytes));
  reply.scales = GPUEMU_TRY(decode_tensors(message, "scales", arena_bytes));
  reply.function_form = message.contains("function_form") && message["function_form"] == true;
  if (const auto names = message.find("predicates"); names != message.end()) {
    if (!is_list_of_names(*names)) return corrupt("predicates that are not a list of names");
    reply.predicates = names->get<std::vector<std::string>>();
  }
  if (const auto reads = message.find("reads"); reads != message.end()) {
    reply.reads = GPUEMU_TRY(decode_reads(*reads));
  }
  return std::optional(std::move(reply));
}

}  // namespace gpuemu
