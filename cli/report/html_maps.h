// Private to this folder: tensors as pictures, in SVG that stands inside a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/ci.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// The part of an output that one block writes, in elements.
struct Tile {
  uint64_t rows = 1, columns = 1;
};

/// The tile of a block of the last launch, where the shape of the grid tells it: x runs over
/// columns and y over rows, or x over rows alone.
std::optional<Tile> tile_of(const std::vector<ExportedLaunch>& launches, const Shape& shape);

/// Where the errors of an output are, with axes, a scale and the tiles of the blocks; "" for a map
/// without cells.
std::string error_figure(const ErrorMap& map, const std::optional<Tile>& tile);
/// The values of an input, likewise; "" for a tensor without elements.
std::string input_figure(const std::string& name, const Tensor& tensor);

}  // namespace gpuemu::cli
