// Decode, find the handler, encode.
#include "daemon/server/server.h"

#include <random>

#include "daemon/server/handlers.h"

namespace gpuemu {

Result<std::unique_ptr<Project>> open_project(Call& call) {
  ServerContext& context = call.context;
  auto config = GPUEMU_TRY(context.config.current());
  return std::make_unique<Project>(std::move(config), context.lanes, context.cache_folder,
                                   context.arch);
}

ErrorReply config_error(const Error& error) { return {WireErrorCode::ConfigError, error.message}; }

ErrorReply op_not_found(const Config& config, const std::string& name) {
  std::string known;
  for (const OpConfig& op : config.ops) known += (known.empty() ? "" : ", ") + op.name;
  return {WireErrorCode::OpNotFound,
          fmt::format("no op '{}' in {}; there are: {}", name,
                      config.file.empty() ? "the configuration" : config.file,
                      known.empty() ? "none" : known)};
}

uint64_t fresh_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string handle_message(std::string_view message, ServerContext& context) {
  ++context.requests;
  try {
    const auto request = decode_request(message);
    if (!request) return encode_reply(error_reply(request.error()));
    Call call{context, std::string(message)};
    return encode_reply(
        std::visit([&](const auto& one) -> Reply { return handle(one, call); }, *request));
  } catch (const std::exception& surprise) {  // The last net: a request must not end the daemon.
    return encode_reply(ErrorReply{WireErrorCode::InternalError, surprise.what()});
  }
}

}  // namespace gpuemu
