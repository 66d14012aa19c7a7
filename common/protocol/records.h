// The records of the wire protocol that several messages share, with the wire's names.
// common/codec/json_codec.h converts records to JSON and back.
#pragma once

#include "common/protocol/records.gen.h"

namespace gpuemu {

/// Returns "contiguous"; name_of() returns "Contiguous".
const char* lower_name_of(LayoutKind layout);

}  // namespace gpuemu
