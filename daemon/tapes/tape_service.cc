#include "daemon/tapes/tape_service.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace gpuemu {
Result<DeviceCopy> TapeService::find(uint64_t number) const {
  const auto found = tensors_.find(number);
  if (found == tensors_.end()) return error(ErrorCode::Corruption, "no tensor {}", number);
  return found->second;
}

Status TapeService::upload(const TapeAsk& ask) {
  if (ask.offset == 0) {
    moving_ = ask.number;
    values_.clear();
    values_.reserve(ask.bytes);
  }
  const bool fits = moving_ == ask.number && ask.offset == values_.size() &&
                    ask.data.size() <= ask.bytes - values_.size();
  if (!fits) return error(ErrorCode::Corruption, "a piece of a tensor out of its turn");
  values_.insert(values_.end(), ask.data.begin(), ask.data.end());
  if (values_.size() < ask.bytes) return ok_status();
  tensors_[ask.number] = GPUEMU_TRY(device_->upload(values_, ask.id));
  values_ = {};
  return ok_status();
}

Status TapeService::run(const TapeAsk& ask) {
  const tape::Entry entry{.seq = ask.seq,
                          .session = {},
                          .id = ask.id,
                          .op = ask.op,
                          .inputs = {},
                          .shape = ask.made.shape,
                          .dtype = ask.made.dtype,
                          .attrs = ask.attrs};
  std::vector<TapeDevice::Operand> inputs;
  for (const TapeAsk::Operand& one : ask.inputs) {
    inputs.push_back({one.shape, one.dtype, GPUEMU_TRY(find(one.number))});
  }
  tensors_[ask.number] = GPUEMU_TRY(device_->run(entry, ask.seed, inputs));
  return ok_status();
}

Result<std::vector<std::byte>> TapeService::download(const TapeAsk& ask) {
  if (ask.offset == 0) {
    moving_ = ask.number;
    const DeviceCopy copy = GPUEMU_TRY(find(ask.number));
    values_ = GPUEMU_TRY(copy->download());
  }
  if (moving_ != ask.number || ask.offset > values_.size()) {
    return error(ErrorCode::Corruption, "a piece of a tensor out of its turn");
  }
  const auto begin = values_.begin() + static_cast<ptrdiff_t>(ask.offset);
  const uint64_t bytes = std::min<uint64_t>(kTapePieceBytes, values_.size() - ask.offset);
  std::vector<std::byte> piece(begin, begin + static_cast<ptrdiff_t>(bytes));
  if (ask.offset + bytes == values_.size()) values_ = {};
  return piece;
}

Result<std::vector<std::byte>> TapeService::serve(const TapeAsk& ask) {
  for (const uint64_t number : ask.freed) tensors_.erase(number);
  if (ask.kind == TapeAskKind::Begin) tensors_.clear();
  if (device_ == nullptr) device_ = GPUEMU_TRY(open_());
  switch (ask.kind) {
    case TapeAskKind::Begin:
    case TapeAskKind::Free:
      break;
    case TapeAskKind::Upload:
      GPUEMU_TRY(upload(ask));
      break;
    case TapeAskKind::Run:
      GPUEMU_TRY(run(ask));
      break;
    case TapeAskKind::Download:
      return download(ask);
  }
  return std::vector<std::byte>();
}

std::vector<std::byte> TapeService::answer(std::span<const std::byte> request) {
  const auto ask = decode_ask(request);
  Result<std::vector<std::byte>> served = error(ErrorCode::Internal, "not served");
  try {
    served = ask ? serve(*ask) : Result<std::vector<std::byte>>(ask.error());
  } catch (const std::exception& failure) {  // Memory that the host does not give, mostly.
    served = error(ErrorCode::ResourceExhausted, "{}", failure.what());
  }
  if (!served) return encode_answer({.is_error = true, .failure = served.error(), .data = {}});
  return encode_answer({.data = *std::move(served)});
}

}  // namespace gpuemu
