// Writes escapes, shortest numbers and tensors as JSON.
#include "common/codec/json_writer.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "common/base/utf8.h"
#include "common/codec/base64.h"

namespace gpuemu {
namespace {

void append_escaped(char c, std::string& to) {
  switch (c) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\t':
      to += "\\t";
      return;
    case '\r':
      to += "\\r";
      return;
    default:
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<uint8_t>(c)));
  }
}

bool is_plain(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void JsonWriter::write(std::string_view value) {
  text_ += '"';
  size_t start = 0;
  size_t at = 0;
  while (at < value.size()) {
    if (is_plain(value[at])) {
      ++at;
      continue;
    }
    text_ += value.substr(start, at - start);
    const std::string_view rest = value.substr(at);
    const size_t length = utf8_length(rest);
    if (length == 0) {
      text_ += "\xef\xbf\xbd";  // Replacement character: scripts may print any bytes.
    } else if (length == 1) {
      append_escaped(rest[0], text_);
    } else {
      text_ += rest.substr(0, length);
    }
    at += length == 0 ? 1 : length;
    start = at;
  }
  text_ += value.substr(start);
  text_ += '"';
}

void JsonWriter::write(double value) {
  if (!std::isfinite(value)) {
    text_ += "null";
    return;
  }
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  const std::string_view shortest(digits, static_cast<size_t>(end - digits));
  text_ += shortest;
  if (shortest.find_first_of(".e") == std::string_view::npos) text_ += ".0";
}

void JsonWriter::diff(const char* name, double value) {
  required(name, std::isfinite(value) ? value : std::numeric_limits<double>::max());
}

void JsonWriter::json_text(const char* name, const std::string& json) {
  key(name);
  text_ += json.empty() ? "null" : json;
}

void JsonWriter::write(const Tensor& tensor) {
  write_tensor(tensor, row_major_strides(tensor.shape));
}

void JsonWriter::write(const CaseInput& input) { write_tensor(input.tensor, input.strides); }

void JsonWriter::write_tensor(const Tensor& tensor, const Strides& strides) {
  text_ += '{';
  required("shape", tensor.shape);
  required("strides", strides);
  required("dtype", tensor.dtype);
  required("data", tensor.data);
  text_ += '}';
}

void JsonWriter::write(const std::vector<std::byte>& bytes) {
  text_ += '"';
  append_base64(bytes, text_);
  text_ += '"';
}

void JsonWriter::key(std::string_view name) {
  if (!text_.empty() && text_.back() != '{') text_ += ',';
  write(name);
  text_ += ':';
}

}  // namespace gpuemu
