// Uses nlohmann::json without its exceptions.
#include "daemon/reference/reference_message.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "common/base/limits.h"

namespace gpuemu {
namespace {

using nlohmann::json;

Error corrupt(std::string_view what) {
  return error(ErrorCode::Corruption, "reference process: {}", what);
}

/// Most requests are shorter.
constexpr size_t kUsualLineBytes = 1024;

/// Quotes a text as JSON. Has a fast path for plain names, which nearly all are.
std::string quoted(const std::string& text) {
  const bool plain = std::ranges::all_of(
      text, [](char one) { return one >= ' ' && one <= '~' && one != '"' && one != '\\'; });
  if (plain) return '"' + text + '"';
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

/// `add` appends one item to `line`.
template <typename Items, typename Add>
void add_list(const Items& items, const Add& add, std::string& line) {
  line += '[';
  for (bool first = true; const auto& item : items) {
    if (!std::exchange(first, false)) line += ',';
    add(item);
  }
  line += ']';
}

template <typename Map, typename Text>
void add_object(const Map& members, const Text& text_of, std::string& line) {
  line += '{';
  for (bool first = true; const auto& [name, value] : members) {
    if (!std::exchange(first, false)) line += ',';
    line += quoted(name) + ':' + text_of(value);
  }
  line += '}';
}

void add_tensors(const std::vector<ReferenceTensor>& tensors, std::string& line) {
  const auto add = [&](const ReferenceTensor& tensor) {
    fmt::format_to(std::back_inserter(line),
                   R"({{"name":{},"dtype":"{}","shape":[{}],"offset":{}}})", quoted(tensor.name),
                   name_of(tensor.dtype), fmt::join(tensor.shape, ","), tensor.arena_offset);
  };
  add_list(tensors, add, line);
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
  std::string line;
  line.reserve(kUsualLineBytes);
  const auto out = std::back_inserter(line);
  fmt::format_to(out, R"({{"arena":{},"script":{},"function":{},"process_only":{},"inputs":)",
                 request.arena, quoted(request.script),
                 quoted(request.function.empty() ? "reference" : request.function),
                 request.process_only);
  add_tensors(request.inputs, line);
  line += R"(,"kwargs":)";
  add_object(request.kwargs, quoted, line);
  // As text, because JSON has no infinities and NaN, while Python's float() reads both.
  line += R"(,"numbers":)";
  add_object(request.numbers, [](double number) { return fmt::format("\"{}\"", number); }, line);
  line += R"(,"integers":)";
  add_object(request.integers, [](int64_t number) { return fmt::format("{}", number); }, line);
  line += R"(,"output_names":)";
  add_list(request.output_names, [&](const std::string& name) { line += quoted(name); }, line);
  fmt::format_to(out, R"(,"want_scale":{},"may_judge":{},"judged":)", request.want_scale,
                 request.may_judge);
  add_tensors(request.judged, line);
  fmt::format_to(out, R"(,"result_offset":{},"timeout_ms":{},"memory_bytes":{}}})",
                 request.result_offset, request.timeout_ms, request.memory_bytes);
  return line += '\n';
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
