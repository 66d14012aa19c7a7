// Selects the alternative that `type` names, and reads or writes its member list.
#include "common/codec/json_codec.h"

#include <fmt/format.h>

#include "common/codec/json_reader.h"
#include "common/codec/json_writer.h"
#include "common/codec/shared_tensor.h"
#include "common/protocol/names.h"

namespace gpuemu {
namespace {

/// Returns the index of `type` in `types`.
Result<size_t> type_index(const nlohmann::json& object, std::span<const char* const> types) {
  const auto member = object.find("type");
  if (member == object.end()) {
    return error(ErrorCode::InvalidArgument, "member 'type' is missing, expected one of {}",
                 fmt::join(types, " "));
  }
  if (!member->is_string()) {
    return error(ErrorCode::InvalidArgument, "member 'type': expected a string, got {}",
                 member->type_name());
  }
  const auto& name = member->get_ref<const std::string&>();
  for (size_t i = 0; i < types.size(); ++i) {
    if (name == types[i]) return i;
  }
  return error(ErrorCode::InvalidArgument, "member 'type': unknown type \"{}\", expected one of {}",
               name.substr(0, 64), fmt::join(types, " "));
}

/// Reads into the message itself, because moving each kind of record is code of its own.
template <typename Message, size_t kIndex>
Message read_record(JsonReader& reader) {
  Message message(std::variant_alternative_t<kIndex, typename Message::Alternatives>{});
  fields(reader, *std::get_if<kIndex>(&message));
  return message;
}

/// Has one reader per alternative of the variant, in its order.
template <typename Message, size_t... kIndex>
Message read_alternative(size_t index, JsonReader& reader, std::index_sequence<kIndex...>) {
  using Read = Message (*)(JsonReader&);
  constexpr Read kReaders[] = {&read_record<Message, kIndex>...};
  return kReaders[index](reader);
}

template <typename Message>
Result<Message> decode(const nlohmann::json& object, std::span<const char* const> types,
                       const FetchShared* fetch = nullptr) {
  const size_t index = GPUEMU_TRY(type_index(object, types));
  JsonReader reader(object, fetch);
  Message message = read_alternative<Message>(
      index, reader,
      std::make_index_sequence<std::variant_size_v<typename Message::Alternatives>>());
  if (const Status read = reader.status(); !read) return read.error().with_context(types[index]);
  return message;
}

/// Checks what the field list alone cannot express: FuzzOp has two forms.
Status check_fuzz_op(FuzzOpRequest& request) {
  if (request.fuzz_config.has_value() == request.config.has_value()) {
    return error(ErrorCode::InvalidArgument,
                 "FuzzOp: expected one of the members 'fuzz_config' and 'config', got {}",
                 request.config ? "both" : "neither");
  }
  if (request.config && request.config->iterations) {
    request.iterations = *request.config->iterations;
  }
  return ok_status();
}

/// Returns "" if there is none.
Result<std::string> text_of(const nlohmann::json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || member->is_null()) return std::string();
  if (member->is_string()) return member->get<std::string>();
  return error(ErrorCode::InvalidArgument, "member '{}': expected a string, got {}", name,
               member->type_name());
}

Result<AddressedRequest> decode_checked(std::string_view json, const FetchShared* fetch) {
  const nlohmann::json object = GPUEMU_TRY(parse_object(json));
  std::string project = GPUEMU_TRY(text_of(object, "project"));
  std::string session = GPUEMU_TRY(text_of(object, "session"));
  Request request = GPUEMU_TRY(decode<Request>(object, request_types(), fetch));
  if (auto* fuzz = std::get_if<FuzzOpRequest>(&request)) GPUEMU_TRY(check_fuzz_op(*fuzz));
  return AddressedRequest{std::move(project), std::move(session), std::move(request)};
}

}  // namespace

Result<Request> decode_request(std::string_view json) {
  return GPUEMU_TRY(decode_checked(json, nullptr)).request;
}

Result<AddressedRequest> decode_request(std::string_view json, const FetchShared& fetch) {
  return decode_checked(json, &fetch);
}

Result<Reply> decode_reply(std::string_view json) {
  return decode<Reply>(GPUEMU_TRY(parse_object(json)), reply_types());
}

std::string encode_request(const Request& request, std::string_view project,
                           std::string_view session) {
  JsonWriter writer;
  const auto write = [&]<typename R>(const R& record) {
    // A record with the member itself says which session it means.
    constexpr bool kHasOwn = requires { record.session; };
    writer.message(type_of(request), record, project, kHasOwn ? "" : session);
  };
  std::visit(write, request);
  return writer.take();
}

std::string encode_reply(const Reply& reply) {
  JsonWriter writer;
  std::visit([&](const auto& record) { writer.message(type_of(reply), record); }, reply);
  return writer.take();
}

std::string encode_result(const ValidationResult& result) {
  JsonWriter writer;
  writer.write(result);
  return writer.take();
}

std::string encode_event(const JobEvent& event) {
  JsonWriter writer;
  writer.write(event);
  return writer.take();
}

std::string encode_op_report(const OpTestReport& report) {
  JsonWriter writer;
  writer.write(report);
  return writer.take();
}

std::string encode_lint_results(const std::vector<LintResult>& results) {
  JsonWriter writer;
  writer.write(results);
  return writer.take();
}

}  // namespace gpuemu
