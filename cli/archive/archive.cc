#include "cli/archive/archive.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/archive/gzip.h"
#include "common/codec/base64.h"
#include "common/codec/json_codec.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr size_t kPathBytesMax = 512, kFilesMax = 4096;
/// Records nest about a dozen levels; recursion over much deeper text would exhaust the stack.
constexpr int kDepthMax = 64;

template <class... Parts>
Error damaged(fmt::format_string<Parts...> text, Parts&&... parts) {
  return Error{ErrorCode::Corruption, fmt::format(text, std::forward<Parts>(parts)...)};
}

/// Returns the member if it has this type; null if it is missing or has another type.
const Json* member(const Json& object, const char* name, Json::value_t type) {
  const auto found = object.find(name);
  return found != object.end() && found->type() == type ? &*found : nullptr;
}

std::string text_of(const Json& object, const char* name) {
  const Json* found = member(object, name, Json::value_t::string);
  return found == nullptr ? "" : found->get<std::string>();
}

template <class R>
Result<R> reply_of(const Json& json, const char* what) {
  auto reply = decode_reply(json.dump());
  auto* found = reply ? std::get_if<R>(&*reply) : nullptr;
  if (found == nullptr) return damaged("'{}' is not what gpuemu writes there", what);
  return std::move(*found);
}

/// Returns whether one path is the folder of another, so that they cannot both be written.
bool is_folder_of_another(const std::map<std::string, std::string>& files) {
  return std::ranges::any_of(files, [&](const auto& file) {
    const auto next = files.lower_bound(file.first + "/");
    return next != files.end() && next->first.starts_with(file.first + "/");
  });
}

Status read_files(const Json& all, RunArchive& archive) {
  if (all.size() > kFilesMax) return damaged("{} files, the limit is {}", all.size(), kFilesMax);
  for (const auto& [path, content] : all.items()) {
    if (!is_harmless_path(path)) {
      return damaged("the path '{}' of a file would lead out of the project's folder", path);
    }
    const auto bytes = content.is_string() ? decode_base64(content.get<std::string>())
                                           : Result<std::vector<std::byte>>(damaged("no text"));
    if (!bytes) return damaged("the content of file '{}' is not base64", path);
    archive.files[path] = std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  if (is_folder_of_another(archive.files)) return damaged("a file is the folder of another one");
  if (!archive.files.contains(archive.config)) {
    return damaged("its project file '{}' is not among its files", archive.config);
  }
  return ok_status();
}

}  // namespace

bool is_harmless_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax) return false;
  const bool odd = std::ranges::any_of(path, [](char letter) {
    return letter == '\\' || static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
  if (odd) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    // "." and ".." begin with a dot, and so do files that tools run automatically.
    if (end == begin || path[begin] == '.') return false;
    begin = end + 1;
  }
  return true;
}

Result<std::string> pack_archive(const RunArchive& archive) {
  Json json = {{"gpuemu_archive", kFormat},   {"version", archive.version},
               {"config", archive.config},    {"files", Json::object()},
               {"cases", Json::array()},      {"page", archive.page},
               {"left_out", archive.left_out}};
  for (const auto& [path, content] : archive.files) {
    json["files"][path] = encode_base64(std::as_bytes(std::span(content)));
  }
  json["run"] = Json::parse(encode_reply(CiRunCompleteReply{archive.run}), nullptr, false);
  for (const ReproduceResultReply& one : archive.cases) {
    json["cases"].push_back(Json::parse(encode_reply(one), nullptr, false));
  }
  auto packed = GPUEMU_TRY(gzip(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  if (packed.size() > kArchiveBytesMax) {
    return error(ErrorCode::ResourceExhausted, "the archive has {} MiB, the limit is {} MiB",
                 packed.size() >> 20, kArchiveBytesMax >> 20);
  }
  return packed;
}

Result<RunArchive> unpack_archive(std::string_view bytes) {
  const std::string text = GPUEMU_TRY(gunzip(bytes, kUnpackedBytesMax));
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  const Json json = Json::parse(text, watch, false);
  if (too_deep) return damaged("its JSON nests deeper than {}", kDepthMax);
  const Json* format =
      json.is_object() ? member(json, "gpuemu_archive", Json::value_t::number_unsigned) : nullptr;
  if (format == nullptr) return damaged("it is not an archive of `gpuemu ci --archive`");
  if (format->get<uint64_t>() != kFormat) {
    return damaged("it has format {}, this gpuemu reads {}; use the one that wrote it, {}",
                   format->get<uint64_t>(), kFormat, text_of(json, "version"));
  }
  RunArchive archive;
  archive.version = text_of(json, "version");
  archive.config = text_of(json, "config");
  archive.page = text_of(json, "page");
  const Json* files = member(json, "files", Json::value_t::object);
  const Json* run = member(json, "run", Json::value_t::object);
  const Json* cases = member(json, "cases", Json::value_t::array);
  if (files == nullptr || run == nullptr || cases == nullptr) {
    return damaged("'files', 'run' or 'cases' is missing");
  }
  GPUEMU_TRY(read_files(*files, archive));
  archive.run = GPUEMU_TRY(reply_of<CiRunCompleteReply>(*run, "run")).summary;
  for (const Json& one : *cases) {
    archive.cases.push_back(GPUEMU_TRY(reply_of<ReproduceResultReply>(one, "cases")));
  }
  if (const Json* left_out = member(json, "left_out", Json::value_t::array)) {
    for (const Json& one : *left_out) {
      if (one.is_string()) archive.left_out.push_back(one.get<std::string>());
    }
  }
  return archive;
}

std::string case_text(const ReproduceResultReply& one) { return encode_reply(one) + "\n"; }

}  // namespace gpuemu::cli
