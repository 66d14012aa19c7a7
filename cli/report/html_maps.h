// Private to this folder: tensors as pictures in inline SVG.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/ci.gen.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// The part of an output that one block writes, in elements.
struct Tile {
  uint64_t rows = 1, columns = 1;
};

/// Returns the tile of a block of the last launch, if the shape of the grid determines it: x runs
/// over columns and y over rows, or x over rows only.
std::optional<Tile> tile_of(const std::vector<ExportedLaunch>& launches, const Shape& shape);

/// Draws where the errors of an output are, with axes, a scale and the tiles of the blocks; "" for
/// a map without cells.
std::string error_figure(const ErrorMap& map, const std::optional<Tile>& tile);
/// Draws the values of an input in the same way; "" for a tensor without elements.
std::string input_figure(const std::string& name, const Tensor& tensor);

}  // namespace gpuemu::cli
