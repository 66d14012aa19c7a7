#include "tests/fidelity/recording.h"

#include "common/base/bytes.h"
#include "common/base/files.h"

namespace gpuemu::fidelity {
namespace {
constexpr std::string_view kMagic = "gpuemu-fidelity-1";
constexpr size_t kBytesMax = size_t{1} << 30;
}  // namespace

Status write_recording(const Recording& recording, const std::string& path) {
  ByteWriter out;
  out.write_string(kMagic);
  out.write_string(recording.device);
  out.write(static_cast<uint64_t>(recording.tensors.size()));
  for (const auto& [name, bytes] : recording.tensors) {
    out.write_string(name);
    out.write_blob(bytes);
  }
  out.write(static_cast<uint64_t>(recording.notes.size()));
  for (const auto& [name, note] : recording.notes) {
    out.write_string(name);
    out.write_string(note);
  }
  const auto* from = reinterpret_cast<const char*>(out.bytes().data());
  return write_file(path, std::string_view(from, out.bytes().size()));
}

Result<Recording> read_recording(const std::string& path) {
  const std::string text = GPUEMU_TRY(read_file(path, kBytesMax));
  ByteReader in(std::as_bytes(std::span(text)));
  const auto magic = in.read_string();
  if (!magic || *magic != kMagic) {
    return error(ErrorCode::Corruption, "{}: no recording of this program; make one with --record",
                 path);
  }
  Recording recording;
  recording.device = GPUEMU_TRY(in.read_string());
  for (auto left = GPUEMU_TRY(in.read<uint64_t>()); left > 0; --left) {
    const std::string name = GPUEMU_TRY(in.read_string());
    const auto blob = GPUEMU_TRY(in.read_blob());
    recording.tensors[name] = {blob.begin(), blob.end()};
  }
  for (auto left = GPUEMU_TRY(in.read<uint64_t>()); left > 0; --left) {
    const std::string name = GPUEMU_TRY(in.read_string());
    recording.notes[name] = GPUEMU_TRY(in.read_string());
  }
  return recording;
}

}  // namespace gpuemu::fidelity
