// Private to this folder: functions that all readers and writers of FlatBuffers values share.
#pragma once

#include <cstring>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "common/base/result.h"
#include "records_generated.h"

namespace gpuemu::storage {

/// Converts a stored number to an enumerator; Corruption if there is none.
template <typename Enum>
Result<Enum> enum_of(uint8_t number, Enum last) {
  if (number <= static_cast<uint8_t>(last)) return static_cast<Enum>(number);
  return error(ErrorCode::Corruption, "stored enumerator {} is above {}", number,
               static_cast<int>(last));
}

/// A stored record whose offsets were all checked, at an address that its fields are aligned for.
/// Without a copy it refers to the bytes that it was made of.
template <typename Table>
class Record {
 public:
  explicit Record(std::string_view bytes) {
    const char* data = bytes.data();
    if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0) {
      aligned_.resize((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
      std::memcpy(aligned_.data(), data, bytes.size());
      data = reinterpret_cast<const char*>(aligned_.data());
    }
    data_ = reinterpret_cast<const uint8_t*>(data);
  }
  Record(Record&&) noexcept = default;
  Record& operator=(Record&&) noexcept = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  const uint8_t* data() const { return data_; }
  const Table* operator->() const { return flatbuffers::GetRoot<Table>(data_); }

 private:
  std::vector<uint64_t> aligned_;  // Moving a Record leaves these where they are.
  const uint8_t* data_;
};

/// Reads a record; Corruption if one of its offsets is wrong. `bytes` must outlive it.
template <typename Table>
Result<Record<Table>> record_of(std::string_view bytes) {
  Record<Table> record(bytes);
  flatbuffers::Verifier verifier(record.data(), bytes.size());
  if (bytes.size() < sizeof(flatbuffers::uoffset_t) || !verifier.VerifyBuffer<Table>(nullptr)) {
    return error(ErrorCode::Corruption,
                 "a stored record of {} bytes is damaged; delete the database folder to start anew",
                 bytes.size());
  }
  return record;
}

template <typename Table>
std::string finish(const typename Table::NativeTableType& record) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &record));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace gpuemu::storage
