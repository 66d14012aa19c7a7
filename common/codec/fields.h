// Private to this folder: what the member lists of fields_*.gen.h have in common. JsonWriter and
// JsonReader both walk these lists, so what is sent can be read. tools/make_protocol.py says what
// their words mean (required, optional, extra, diff, ...).
#pragma once

#include <concepts>
#include <type_traits>

namespace gpuemu {

/// R is Record, possibly const.
template <typename R, typename Record>
concept Is = std::same_as<std::remove_const_t<R>, Record>;

}  // namespace gpuemu
