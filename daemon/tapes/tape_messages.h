// What a tape's device in a worker is asked, and answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "daemon/worker/wire.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

/// Tensors go in pieces of so many bytes: nobody waits long for a turn of the connection.
inline constexpr uint64_t kTapePieceBytes = uint64_t{4} << 20;

enum class TapeAskKind : uint8_t { Begin, Upload, Run, Download, Free };

struct TapeAsk {
  /// A tensor of a call; `number` is the device's.
  struct Operand {
    uint64_t number = 0;
    std::vector<int64_t> shape = {};
    DType dtype = DType::Float32;
  };
  TapeAskKind kind = TapeAskKind::Begin;
  std::vector<uint64_t> freed = {};  ///< What may go before that.
  uint64_t number = 0;               ///< The tensor.
  Operand made = {};                 ///< Run: its shape and dtype.
  uint64_t offset = 0, bytes = 0;    ///< Upload, Download: which piece, of how many bytes in all.
  std::vector<std::byte> data = {};  ///< Upload.
  std::string id = {}, op = {}, attrs = {};
  uint64_t seq = 0, seed = 0;
  std::vector<Operand> inputs = {};
};

struct TapeAnswer {
  bool is_error = false;
  Error failure = {};
  std::vector<std::byte> data = {};  ///< Download.
};

std::vector<std::byte> encode_ask(TapeAsk ask);
Result<TapeAsk> decode_ask(std::span<const std::byte> bytes);
std::vector<std::byte> encode_answer(TapeAnswer answer);
Result<TapeAnswer> decode_answer(std::span<const std::byte> bytes);

}  // namespace gpuemu
