#include "daemon/tapes/worker_device.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "daemon/tapes/tape_messages.h"

namespace gpuemu {
namespace {

class WorkerTapeDevice final : public TapeDevice,
                               public std::enable_shared_from_this<WorkerTapeDevice> {
 public:
  explicit WorkerTapeDevice(std::shared_ptr<TapeChannel> channel) : channel_(std::move(channel)) {}

  Result<DeviceCopy> upload(std::span<const std::byte> values, const std::string& name) override;
  Result<DeviceCopy> run(const tape::Entry& entry, uint64_t seed,
                         const std::vector<Operand>& inputs) override;
  void flush() override;
  bool is_lost() override { return channel_->is_lost(); }
  bool was_lost_by_caller() const override {
    const std::lock_guard lock(mutex_);
    return lost_by_ == std::this_thread::get_id();
  }
  std::string worker_id() const override { return channel_->worker_id(); }

  Result<std::vector<std::byte>> download(uint64_t number, uint64_t bytes);
  /// Frees a tensor; the worker learns of it with the next request at the latest.
  void free(uint64_t number);
  Result<std::vector<std::byte>> ask(TapeAsk request);

 private:
  DeviceCopy take(uint64_t number, uint64_t bytes);
  uint64_t next_number();

  const std::shared_ptr<TapeChannel> channel_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  uint64_t last_ = 0;
  std::vector<uint64_t> freed_;
  std::thread::id lost_by_;  ///< The thread whose request the worker had when it was lost.
  /// Locked while the pieces of one tensor are sent, so that they follow each other.
  std::mutex pieces_;
};

class WorkerBytes final : public DeviceBytes {
 public:
  WorkerBytes(std::shared_ptr<WorkerTapeDevice> device, uint64_t number, uint64_t bytes)
      : device_(std::move(device)), number_(number), bytes_(bytes) {}
  ~WorkerBytes() override { device_->free(number_); }
  TapeDevice& device() const override { return *device_; }
  uint64_t number() const { return number_; }
  Result<std::vector<std::byte>> download() const override {
    return device_->download(number_, bytes_);
  }

 private:
  const std::shared_ptr<WorkerTapeDevice> device_;
  const uint64_t number_, bytes_;
};

TapeAsk::Operand told(uint64_t number, const Shape& shape, DType dtype) {
  return {number, {shape.begin(), shape.end()}, dtype};
}

/// Returns what the time limit of a request covers.
std::string_view what_of(TapeAskKind kind) {
  switch (kind) {
    case TapeAskKind::Begin:
      return "opening a device";
    case TapeAskKind::Upload:
      return "copying 4 MiB of a tensor to a device";
    case TapeAskKind::Download:
      return "copying 4 MiB of a tensor from a device";
    case TapeAskKind::Free:
      return "freeing tensors";
    case TapeAskKind::Run:
      break;
  }
  return "an op of a tape with the compilation of its kernel";
}

uint64_t WorkerTapeDevice::next_number() {
  const std::lock_guard lock(mutex_);
  return ++last_;
}

DeviceCopy WorkerTapeDevice::take(uint64_t number, uint64_t bytes) {
  return std::make_shared<WorkerBytes>(shared_from_this(), number, bytes);
}

void WorkerTapeDevice::free(uint64_t number) {
  const std::lock_guard lock(mutex_);
  freed_.push_back(number);
}

void WorkerTapeDevice::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (freed_.empty()) return;
  }
  // If the worker is lost, the tensors are gone anyway.
  (void)ask({.kind = TapeAskKind::Free}).ok();
}

Result<std::vector<std::byte>> WorkerTapeDevice::ask(TapeAsk request) {
  {
    const std::lock_guard lock(mutex_);
    request.freed = std::exchange(freed_, {});
  }
  const TapeAskKind kind = request.kind;
  const TapeReply reply = channel_->ask(encode_ask(std::move(request)));
  if (reply.end == TapeReply::End::TooLong) {
    return error(
        ErrorCode::Timeout,
        "it took longer than {} s, the limit for {}; the worker {} was ended for it, and it "
        "is not tried again",
        kTapeRequestMs / 1000, what_of(kind), channel_->worker_id());
  }
  if (reply.end != TapeReply::End::Answered) {
    if (reply.end == TapeReply::End::LostWithIt) {
      const std::lock_guard lock(mutex_);
      lost_by_ = std::this_thread::get_id();
    }
    return error(ErrorCode::Unavailable, "the worker {} is lost", channel_->worker_id());
  }
  TapeAnswer answer = GPUEMU_TRY(decode_answer(reply.answer));
  if (answer.is_error) return answer.failure;
  return std::move(answer.data);
}

Result<DeviceCopy> WorkerTapeDevice::upload(std::span<const std::byte> values,
                                            const std::string& name) {
  const std::lock_guard lock(pieces_);
  const uint64_t number = next_number();
  uint64_t at = 0;
  do {
    const auto piece = values.subspan(at, std::min<uint64_t>(kTapePieceBytes, values.size() - at));
    TapeAsk request{.kind = TapeAskKind::Upload, .number = number};
    request.offset = at;
    request.bytes = values.size();
    request.data.assign(piece.begin(), piece.end());
    request.id = name;
    GPUEMU_TRY(ask(std::move(request)));
    at += piece.size();
  } while (at < values.size());
  return take(number, values.size());
}

Result<std::vector<std::byte>> WorkerTapeDevice::download(uint64_t number, uint64_t bytes) {
  const std::lock_guard lock(pieces_);
  std::vector<std::byte> values;
  values.reserve(bytes);
  do {
    TapeAsk request{.kind = TapeAskKind::Download, .number = number};
    request.offset = values.size();
    const auto piece = GPUEMU_TRY(ask(std::move(request)));
    if (piece.size() > bytes - values.size() || (piece.empty() && bytes > 0)) {
      return error(ErrorCode::Corruption, "the worker {} sent {} bytes too many or too few",
                   worker_id(), piece.size());
    }
    values.insert(values.end(), piece.begin(), piece.end());
  } while (values.size() < bytes);
  return values;
}

Result<DeviceCopy> WorkerTapeDevice::run(const tape::Entry& entry, uint64_t seed,
                                         const std::vector<Operand>& inputs) {
  const uint64_t number = next_number();
  TapeAsk request{.kind = TapeAskKind::Run, .number = number};
  request.made = told(number, entry.shape, entry.dtype);
  request.id = entry.id;
  request.op = entry.op;
  request.attrs = entry.attrs;
  request.seq = entry.seq;
  request.seed = seed;
  for (const Operand& one : inputs) {
    if (&one.memory->device() != this) {
      return error(ErrorCode::Unavailable, "an input of '{}' is on another device", entry.id);
    }
    const auto& memory = static_cast<const WorkerBytes&>(*one.memory);
    request.inputs.push_back(told(memory.number(), one.shape, one.dtype));
  }
  GPUEMU_TRY(ask(std::move(request)));
  return take(number, byte_size(entry.dtype) * static_cast<uint64_t>(element_count(entry.shape)));
}

}  // namespace

Result<std::shared_ptr<TapeDevice>> open_worker_tape_device(std::shared_ptr<TapeChannel> channel) {
  auto device = std::make_shared<WorkerTapeDevice>(std::move(channel));
  GPUEMU_TRY(device->ask({.kind = TapeAskKind::Begin}));
  return std::shared_ptr<TapeDevice>(std::move(device));
}

}  // namespace gpuemu
