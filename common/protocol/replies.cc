#include "common/protocol/replies.h"

#include <utility>

namespace gpuemu {

Reply::Reply() noexcept = default;
Reply::Reply(const Reply&) = default;
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(const Reply&) = default;
Reply& Reply::operator=(Reply&&) noexcept = default;
Reply::~Reply() = default;

#define GPUEMU_CONSTRUCTOR(name)  \
  Reply::Reply(name##Reply reply) \
      : ReplyVariant(std::in_place_type<name##Reply>, std::move(reply)) {}
GPUEMU_REPLIES(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR

}  // namespace gpuemu
