// Binds type letters to dtypes, and inserts them into entry names.
#include "ops/dispatch/type_binding.h"

#include "common/base/check.h"

namespace gpuemu {

void TypeBinding::bind(char letter, DType dtype) {
  GPUEMU_CHECK(count_ < kTypeLettersMax);
  letters_[count_] = letter;
  dtypes_[count_++] = dtype;
}

const DType* TypeBinding::find(char letter) const {
  for (size_t i = 0; i < count_; ++i) {
    if (letters_[i] == letter) return &dtypes_[i];
  }
  return nullptr;
}

uint32_t TypeBinding::index() const {
  constexpr uint32_t kDigits = kDTypeCount + 1;
  uint32_t index = 0;
  for (size_t i = 0; i < count_; ++i) {
    index = index * kDigits + static_cast<uint32_t>(dtypes_[i]) + 1;
  }
  return index;
}

std::string TypeBinding::text() const {
  std::string text;
  for (size_t i = 0; i < count_; ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", letters_[i], name_of(dtypes_[i]));
  }
  return text;
}

Result<TypeBinding> bind_types(const OpCase& c) {
  TypeBinding types;
  const auto add = [&](const OperandSpec& operand, DType dtype) -> Status {
    const DType* known = types.find(operand.type);
    if (known == nullptr) {
      types.bind(operand.type, dtype);
    } else if (*known != dtype) {
      return error(ErrorCode::InvalidArgument, "{} is {}, expected {} as the operand before it",
                   operand.name, name_of(dtype), name_of(*known));
    }
    return ok_status();
  };
  for (size_t i = 0; i < c.inputs.size(); ++i) GPUEMU_TRY(add(c.op.inputs[i], c.in(i).dtype));
  for (size_t i = 0; i < c.outputs.size(); ++i) GPUEMU_TRY(add(c.op.outputs[i], c.out(i).dtype));
  return types;
}

Result<std::string> entry_name(std::string_view pattern, const TypeBinding& types) {
  std::string name;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      name += pattern[at];
      continue;
    }
    const size_t end = pattern.find('}', at);
    const std::string_view word =
        end == pattern.npos ? std::string_view() : pattern.substr(at + 1, end - at - 1);
    const DType* dtype = word.empty() ? nullptr : types.find(word[0]);
    const bool as_type = word.size() == 3 && word.substr(1) == ":c";
    if (dtype == nullptr || (word.size() != 1 && !as_type)) {
      return error(ErrorCode::InvalidArgument,
                   "entry '{}': expected {{T}} or {{T:c}} with a letter of the op's operands",
                   pattern);
    }
    name += as_type ? cuda_type_of(*dtype) : name_of(*dtype);
    at = end;
  }
  return name;
}

}  // namespace gpuemu
