// Builds the keys of timings, and reads and writes their files.
#include "ops/dispatch/timings.h"

#include <charconv>
#include <filesystem>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/tensor/tensor.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

constexpr std::string_view kMagic = "gpuemu-timings 1\n";
constexpr size_t kTimingsBytesMax = size_t{1} << 20;

void append_class(std::string& text, const DeviceTensor& tensor) {
  text += " " + size_class(tensor.shape, tensor.contiguous());
}

/// Removes and returns the next field up to `end`; nothing if there is none.
std::optional<std::string_view> cut(std::string_view& text, char end) {
  const size_t at = text.find(end);
  if (at == text.npos) return std::nullopt;
  const std::string_view field = text.substr(0, at);
  text.remove_prefix(at + 1);
  return field;
}

VariantTimes parse(std::string_view text, const std::string& question) {
  if (!text.starts_with(kMagic)) return {};
  text.remove_prefix(kMagic.size());
  if (cut(text, '\n') != question) return {};
  VariantTimes times;
  while (!text.empty()) {
    const auto variant = cut(text, '\t'), hash = cut(text, '\t'), number = cut(text, '\n');
    if (!variant || !hash || !number) return {};
    double value = 0;
    const auto [end, code] =
        std::from_chars(number->data(), number->data() + number->size(), value);
    if (code != std::errc() || end != number->data() + number->size() || !(value > 0)) return {};
    times[std::string(*variant)] = {std::string(*hash), value};
  }
  return times;
}

}  // namespace

std::string timing_question(const OpCase& c, const TypeBinding& types) {
  std::string text =
      fmt::format("{}; {}; {} sm_{};", c.op.name, types.text(), c.device.name, c.device.sm);
  for (const DeviceTensor& tensor : c.inputs) append_class(text, tensor);
  for (const DeviceTensor& tensor : c.outputs) append_class(text, tensor);
  return text;
}

std::string Timings::file_of(const std::string& question) const {
  return (std::filesystem::path(folder_) / (content_hash({question}) + ".timings")).string();
}

VariantTimes Timings::find(const std::string& question) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(question);
  if (known != known_.end()) return known->second;
  if (folder_.empty()) return {};
  const auto text = read_file(file_of(question), kTimingsBytesMax);
  if (!text) return {};
  return known_[question] = parse(*text, question);
}

void Timings::keep(const std::string& question, const VariantTimes& times) {
  const std::lock_guard lock(mutex_);
  known_[question] = times;
  if (folder_.empty()) return;
  std::string text = std::string(kMagic) + question + "\n";
  for (const auto& [variant, time] : times) {
    text += fmt::format("{}\t{}\t{}\n", variant, time.module_hash, time.microseconds);
  }
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (!failed) (void)write_file(file_of(question), text).ok();
}

}  // namespace gpuemu
