// Private to this folder: appends JSON. Members keep the order in which they are written; numbers
// have the shortest form that reads back as the same value.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec/fields_replies.gen.h"
#include "common/codec/fields_requests.gen.h"
#include "common/protocol/layout_name.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

class JsonWriter {
 public:
  std::string take() { return std::move(text_); }

  /// Writes a message: `type`, the members of `record` beside it, and the other arguments that are
  /// not "".
  template <typename Record>
  void message(const char* type, const Record& record, std::string_view project = "",
               std::string_view session = "") {
    text_ += '{';
    required("type", std::string_view(type));
    fields(*this, record);
    extra("project", project);
    extra("session", session);
    text_ += '}';
  }

  template <typename T>
  void required(const char* name, const T& value) {
    key(name);
    write(value);
  }
  template <typename T>
  void optional(const char* name, const T& value) {
    required(name, value);
  }
  template <typename T>
  void extra(const char* name, const T& value) {
    if (!(value == T())) required(name, value);
  }
  void diff(const char* name, double value);
  void lower_case(const char* name, LayoutKind layout) { required(name, lower_name_of(layout)); }
  /// `json` is already JSON; "" becomes null.
  void json_text(const char* name, const std::string& json);

  /// Only used when reading.
  template <typename T>
  void at_most(const char*, const T&, uint64_t) {}

  void write(bool value) { text_ += value ? "true" : "false"; }
  void write(double value);
  void write(std::string_view value);
  void write(const std::string& value) { write(std::string_view(value)); }
  void write(const char* value) { write(std::string_view(value)); }
  void write(DType dtype) { write(name_of(dtype)); }
  void write(const Tensor& tensor);
  void write(const CaseInput& input);
  void write(const std::vector<std::byte>& bytes);
  template <std::integral T>
  void write(T value) {
    text_ += std::to_string(value);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void write(T value) {
    write(name_of(value));
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    if (value) {
      write(*value);
    } else {
      text_ += "null";
    }
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    text_ += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      write(values[i]);
    }
    text_ += ']';
  }
  template <typename T>
  void write(const std::map<std::string, T>& values) {
    text_ += '{';
    for (const auto& [name, value] : values) {
      key(name);
      write(value);
    }
    text_ += '}';
  }
  template <typename T>
    requires std::is_class_v<T>
  void write(const T& record) {
    text_ += '{';
    fields(*this, record);
    text_ += '}';
  }

 private:
  void key(std::string_view name);
  void write_tensor(const Tensor& tensor, const Strides& strides);
  std::string text_;
};

}  // namespace gpuemu
