// The records of the wire protocol that several messages share. Names are the wire's. JSON stays
// inside this folder: json_codec.h turns records into text and back.
#pragma once

#include "common/protocol/records.gen.h"

namespace gpuemu {

/// "contiguous"; name_of() says "Contiguous".
const char* lower_name_of(LayoutKind layout);

}  // namespace gpuemu
