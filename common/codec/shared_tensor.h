// Tensors whose bytes lie in memory of the client's process instead of in its message: a request of
// large arrays is then as short as one without.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/requests.h"

namespace gpuemu {

/// A copy of those bytes. NotFound when they cannot be reached from here, InvalidArgument when they
/// are not what the record says.
using FetchShared = std::function<Result<std::vector<std::byte>>(const SharedTensorRef&)>;

/// A request, and the project and the session that it is for.
struct AddressedRequest {
  std::string project, session;  ///< "" where it names none.
  Request request;
};

/// decode_request of json_codec.h for a message whose tensors may have `memory` in the place of
/// `data`; errors of `fetch` come back with their code.
Result<AddressedRequest> decode_request(std::string_view json, const FetchShared& fetch);

}  // namespace gpuemu
