// Counts the enumerators of an enumeration that starts at 0 and has no gaps. The count comes from
// the compiler, so it cannot become wrong.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuemu {

namespace enum_count_detail {

/// GCC and Clang spell a named value "gpuemu::Role::Input" and any other one "(gpuemu::Role)7".
template <auto kValue>
constexpr bool has_name() {
  constexpr std::string_view kMark = "kValue = ";
  constexpr std::string_view kFunction = __PRETTY_FUNCTION__;
  constexpr size_t kAt = kFunction.find(kMark);
  static_assert(kAt != std::string_view::npos, "this compiler spells template arguments otherwise");
  return kFunction[kAt + kMark.size()] != '(';
}

}  // namespace enum_count_detail

template <typename Enum, size_t kFrom = 0>
constexpr size_t enum_count() {
  if constexpr (enum_count_detail::has_name<static_cast<Enum>(kFrom)>()) {
    return enum_count<Enum, kFrom + 1>();
  } else {
    return kFrom;
  }
}

}  // namespace gpuemu
