// Uses nlohmann::json without its exceptions.
#include "daemon/reference/reference_message.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/limits.h"

namespace gpuemu {
namespace {

using nlohmann::json;

Error corrupt(std::string_view what) {
  return error(ErrorCode::Corruption, "reference process: {}", what);
}

constexpr std::string_view kMagic = "gRef";
struct Header {
  std::array<char, 4> magic;
  uint32_t rest_bytes;  ///< Behind this member.
  uint32_t form_bytes;
};
constexpr size_t kBeforeRest = offsetof(Header, form_bytes);
static_assert(sizeof(Header) == 12 && sizeof(Header::magic) == kMagic.size());

/// Answers contain names, shapes and offsets, or one message.
constexpr size_t kReplyBytesMax = size_t{4} << 20;
/// Most forms of requests are shorter.
constexpr size_t kUsualFormBytes = 1024;

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

void add_tensors(const std::vector<ReferenceTensor>& tensors, std::string& form) {
  add_list(
      tensors,
      [&](const ReferenceTensor& tensor) {
        fmt::format_to(std::back_inserter(form), R"([{},"{}",{}])", quoted(tensor.name),
                       name_of(tensor.dtype), tensor.shape.size());
      },
      form);
}

void add_numbers(const std::vector<ReferenceTensor>& tensors, std::vector<int64_t>& numbers) {
  for (const ReferenceTensor& tensor : tensors) {
    numbers.push_back(static_cast<int64_t>(tensor.arena_offset));
    numbers.insert(numbers.end(), tensor.shape.begin(), tensor.shape.end());
  }
}

std::vector<std::byte> frame_of(std::string_view form, const std::vector<int64_t>& numbers) {
  const size_t numbers_bytes = numbers.size() * sizeof(int64_t);
  Header header{};
  std::ranges::copy(kMagic, header.magic.begin());
  header.form_bytes = static_cast<uint32_t>(form.size());
  header.rest_bytes =
      static_cast<uint32_t>(sizeof header - kBeforeRest + form.size() + numbers_bytes);
  std::vector<std::byte> frame(sizeof header + form.size() + numbers_bytes);
  std::memcpy(frame.data(), &header, sizeof header);
  std::memcpy(frame.data() + sizeof header, form.data(), form.size());
  if (!numbers.empty()) {
    std::memcpy(frame.data() + sizeof header + form.size(), numbers.data(), numbers_bytes);
  }
  return frame;
}

struct Parts {
  std::string_view form;
  std::vector<int64_t> numbers;
};

Result<Parts> parts_of(std::span<const std::byte> frame) {
  Header header{};
  if (frame.size() < sizeof header) return corrupt("a frame without a form");
  std::memcpy(&header, frame.data(), sizeof header);
  const std::span<const std::byte> rest = frame.subspan(sizeof header);
  if (header.form_bytes > rest.size()) return corrupt("a form longer than its frame");
  const size_t numbers_bytes = rest.size() - header.form_bytes;
  if (numbers_bytes % sizeof(int64_t) != 0) return corrupt("a part of a number");
  Parts parts{{reinterpret_cast<const char*>(rest.data()), header.form_bytes},
              std::vector<int64_t>(numbers_bytes / sizeof(int64_t))};
  if (numbers_bytes > 0) {
    std::memcpy(parts.numbers.data(), rest.data() + header.form_bytes, numbers_bytes);
  }
  return parts;
}

/// Returns the tensor without its offset and sizes, for which it takes its part of `numbers_left`.
Result<ReferenceTensor> decode_tensor(const json& record, size_t& numbers_left) {
  const bool good = record.is_array() && record.size() == 3 && record[0].is_string() &&
                    record[1].is_string() && record[2].is_number_unsigned();
  if (!good) return corrupt("a tensor without name, dtype or rank");
  ReferenceTensor tensor;
  tensor.name = record[0].get<std::string>();
  const auto dtype = dtype_from_name(record[1].get_ref<const std::string&>());
  if (!dtype) return corrupt("unknown dtype");
  tensor.dtype = *dtype;
  const auto rank = record[2].get<uint64_t>();
  if (rank >= numbers_left) return corrupt("a tensor without offset or sizes");
  numbers_left -= 1 + rank;
  tensor.shape.resize(rank);
  return tensor;
}

Result<std::vector<ReferenceTensor>> decode_tensors(const json& message, const char* member,
                                                    size_t& numbers_left) {
  std::vector<ReferenceTensor> tensors;
  const auto found = message.find(member);
  if (found == message.end() || !found->is_array()) return corrupt("a reply without tensors");
  if (found->size() > kTensorsMax) {
    return error(ErrorCode::Compile, "the reference returned {} outputs, the limit is {}",
                 found->size(), kTensorsMax);
  }
  for (const json& record : *found) {
    tensors.push_back(GPUEMU_TRY(decode_tensor(record, numbers_left)));
  }
  return tensors;
}

/// Sets offsets and sizes of the tensors to the first of `numbers`, and removes those.
Status place(std::vector<ReferenceTensor>& tensors, std::span<const int64_t>& numbers,
             uint64_t arena_bytes) {
  for (ReferenceTensor& tensor : tensors) {
    const size_t rank = tensor.shape.size();
    if (numbers.size() < 1 + rank) return corrupt("a tensor without offset or sizes");
    if (numbers[0] < 0) return corrupt("a negative offset");
    tensor.arena_offset = static_cast<uint64_t>(numbers[0]);
    tensor.shape.assign(numbers.begin() + 1,
                        numbers.begin() + 1 + static_cast<std::ptrdiff_t>(rank));
    numbers = numbers.subspan(1 + rank);
    const Result<int64_t> checked = checked_element_count(tensor.shape);
    if (!checked) {
      return error(ErrorCode::Compile, "the reference's output '{}': {}", tensor.name,
                   checked.error().message);
    }
    const uint64_t bytes = static_cast<uint64_t>(*checked) * byte_size(tensor.dtype);
    const bool is_inside =
        tensor.arena_offset <= arena_bytes && bytes <= arena_bytes - tensor.arena_offset;
    if (!is_inside && bytes > 0) return corrupt("a tensor outside the arena");
  }
  return ok_status();
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

/// Returns the error that the message reports, or whether it reports that the process is ready;
/// then it is no answer.
Result<bool> is_ready(const json& message) {
  if (!message.is_object()) return corrupt("a form that is not a JSON object");
  if (message.contains("ready")) return true;
  if (message.contains("stale")) return error(ErrorCode::Cancelled, "a loaded module has changed");
  if (message.contains("fatal") && message["fatal"].is_string()) {
    return error(ErrorCode::Unavailable,
                 "{}; install numpy for it (pip install numpy) or name another interpreter in "
                 "[runtime].python",
                 message["fatal"].get_ref<const std::string&>());
  }
  if (!message.contains("ok") || !message["ok"].is_boolean()) return corrupt("an unknown message");
  if (message["ok"].get<bool>()) return false;
  const std::string code = message.value("code", json("")).is_string()
                               ? message.value("code", std::string())
                               : std::string();
  if (!message.contains("message") || !message["message"].is_string()) {
    return corrupt("an error without a message");
  }
  return Error{code_of(code), message["message"].get<std::string>()};
}

/// Returns an answer without offsets and sizes.
Result<ReferenceReply> decode_answer(const json& message, size_t numbers) {
  ReferenceReply reply;
  reply.outputs = GPUEMU_TRY(decode_tensors(message, "outputs", numbers));
  reply.scales = GPUEMU_TRY(decode_tensors(message, "scales", numbers));
  reply.function_form = message.contains("function_form") && message["function_form"] == true;
  if (const auto names = message.find("predicates"); names != message.end()) {
    if (!is_list_of_names(*names)) return corrupt("predicates that are not a list of names");
    reply.predicates = names->get<std::vector<std::string>>();
  }
  if (const auto reads = message.find("reads"); reads != message.end()) {
    reply.reads = GPUEMU_TRY(decode_reads(*reads));
  }
  return reply;
}

/// Returns whether the kwarg is this integer as text, which the other side can write itself.
bool is_kwarg(const ReferenceRequest& request, const std::string& name, int64_t value) {
  const auto found = request.kwargs.find(name);
  return found != request.kwargs.end() && found->second == std::to_string(value);
}

}  // namespace

std::vector<std::byte> encode_request(const ReferenceRequest& request) {
  std::string form;
  form.reserve(kUsualFormBytes);
  const auto out = std::back_inserter(form);
  const auto add_name = [&](const std::string& name) { form += quoted(name); };
  std::vector<int64_t> numbers{static_cast<int64_t>(request.arena),
                               static_cast<int64_t>(request.result_offset)};
  std::map<std::string, std::string> kwargs = request.kwargs;
  std::vector<std::string> integers, as_kwargs;
  for (const auto& [name, value] : request.integers) {
    numbers.push_back(value);
    integers.push_back(name);
    if (!is_kwarg(request, name, value)) continue;
    as_kwargs.push_back(name);
    kwargs.erase(name);
  }
  fmt::format_to(
      out, R"({{"script":{},"function":{},"process_only":{},"inputs":)", quoted(request.script),
      quoted(request.function.empty() ? "reference" : request.function), request.process_only);
  add_tensors(request.inputs, form);
  form += R"(,"judged":)";
  add_tensors(request.judged, form);
  form += R"(,"kwargs":)";
  add_object(kwargs, quoted, form);
  // As text, because JSON has no infinities and NaN, while Python's float() reads both.
  form += R"(,"numbers":)";
  add_object(request.numbers, [](double number) { return fmt::format("\"{}\"", number); }, form);
  form += R"(,"integers":)";
  add_list(integers, add_name, form);
  form += R"(,"as_kwargs":)";
  add_list(as_kwargs, add_name, form);
  form += R"(,"output_names":)";
  add_list(request.output_names, add_name, form);
  fmt::format_to(out, R"(,"want_scale":{},"may_judge":{},"timeout_ms":{},"memory_bytes":{}}})",
                 request.want_scale, request.may_judge, request.timeout_ms, request.memory_bytes);
  add_numbers(request.inputs, numbers);
  add_numbers(request.judged, numbers);
  return frame_of(form, numbers);
}

Result<std::optional<size_t>> frame_bytes(std::span<const std::byte> received) {
  const size_t known = std::min(received.size(), kMagic.size());
  if (known > 0 && std::memcmp(received.data(), kMagic.data(), known) != 0) {
    return corrupt("bytes on its socket that do not begin a frame");
  }
  Header header{};
  if (received.size() < kBeforeRest) return std::optional<size_t>();
  std::memcpy(&header, received.data(), kBeforeRest);
  if (header.rest_bytes > kReplyBytesMax) {
    return error(ErrorCode::Corruption, "reference process: a frame of {} bytes, the limit is {}",
                 header.rest_bytes, kReplyBytesMax);
  }
  return std::optional(kBeforeRest + header.rest_bytes);
}

Result<std::optional<ReferenceReply>> ReplyReader::read(std::span<const std::byte> frame,
                                                        uint64_t arena_bytes) {
  const Parts parts = GPUEMU_TRY(parts_of(frame));
  if (form_.empty() || form_ != parts.form) {
    form_.clear();
    const json message = json::parse(parts.form, nullptr, false);
    if (GPUEMU_TRY(is_ready(message))) return std::optional<ReferenceReply>();
    kept_ = GPUEMU_TRY(decode_answer(message, parts.numbers.size()));
    if (!kept_.reads) form_ = parts.form;
  }
  ReferenceReply reply = kept_;
  std::span<const int64_t> numbers = parts.numbers;
  GPUEMU_TRY(place(reply.outputs, numbers, arena_bytes));
  GPUEMU_TRY(place(reply.scales, numbers, arena_bytes));
  if (!numbers.empty()) return corrupt("more numbers than the form has tensors for");
  return std::optional(std::move(reply));
}

}  // namespace gpuemu
