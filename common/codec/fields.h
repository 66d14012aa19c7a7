// Private to this folder: helpers of the member lists in fields_*.gen.h. JsonWriter and JsonReader
// both use these lists, so what is written can be read. tools/make_protocol.py explains their words
// (required, optional, extra, diff, ...).
#pragma once

#include <concepts>
#include <type_traits>

namespace gpuemu {

/// R is Record, possibly const.
template <typename R, typename Record>
concept Is = std::same_as<std::remove_const_t<R>, Record>;

}  // namespace gpuemu
