// Tensors whose bytes are in the client's shared memory instead of in its message, so that requests
// with large arrays stay short.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/requests.h"

namespace gpuemu {

/// Returns a copy of those bytes. NotFound if they cannot be accessed from here, InvalidArgument if
/// they do not match the record.
using FetchShared = std::function<Result<std::vector<std::byte>>(const SharedTensorRef&)>;

/// A request with the project and session that it is for.
struct AddressedRequest {
  std::string project, session;  ///< "" if it names none.
  Request request;
};

/// Like decode_request() of json_codec.h, for messages whose tensors may have `memory` instead of
/// `data`. Returns errors of `fetch` with their code.
Result<AddressedRequest> decode_request(std::string_view json, const FetchShared& fetch);

}  // namespace gpuemu
