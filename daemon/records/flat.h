// Private to this folder: functions that all readers and writers of FlatBuffers values share.
#pragma once

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

/// Returns the root table after the verifier has checked every offset in it.
template <typename Table>
Result<const Table*> root_of(std::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (bytes.size() < sizeof(flatbuffers::uoffset_t) || !verifier.VerifyBuffer<Table>(nullptr)) {
    return error(ErrorCode::Corruption,
                 "a stored record of {} bytes is damaged; delete the database folder to start anew",
                 bytes.size());
  }
  return flatbuffers::GetRoot<Table>(data);
}

template <typename Table>
std::string finish(const typename Table::NativeTableType& record) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &record));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace gpuemu::storage
