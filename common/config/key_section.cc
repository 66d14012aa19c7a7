#include <algorithm>

#include "common/config/keys.h"

namespace gpuemu {

const Key* KeySection::find(std::string_view key) const {
  const auto row = std::ranges::find(keys, key, &Key::name);
  if (row != keys.end()) return &*row;
  return also == nullptr ? nullptr : also->find(key);
}

std::vector<const Key*> KeySection::all() const {
  std::vector<const Key*> rows;
  for (const Key& row : keys) rows.push_back(&row);
  if (also == nullptr) return rows;
  for (const Key* row : also->all()) rows.push_back(row);
  return rows;
}

}  // namespace gpuemu
