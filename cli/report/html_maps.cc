// Draws cells of equal strength as one path: a map of 48 by 48 cells takes a few kilobytes.
#include "cli/report/html_maps.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "cli/report/escape.h"
#include "cli/report/svg.h"
#include "common/base/text.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kGridMax = 48;
constexpr double kLeft = 46, kTop = 8, kPlot = 210, kCellSideMax = 24;
constexpr double kLabelWidth = 96;  ///< Space for the name of an axis.
constexpr double kScaleLeft = 14, kScaleWidth = 12, kScaleHeight = 96;
constexpr int kLevels = 16;
/// Errors span many decades; errors further below the largest are drawn alike.
constexpr double kDecadesShown = 6;

/// A grid over the rows and columns of a tensor: all axes but the last are rows.
struct Grid {
  uint64_t rows = 0, columns = 0;
  uint64_t of_rows = 0, of_columns = 0;
  std::vector<double> cells;
  bool one_axis = false;
};

/// The position of a grid in its figure, in pixels.
struct Place {
  double cell_width, cell_height, width, height;

  explicit Place(const Grid& grid)
      : cell_width(std::min(kCellSideMax, kPlot / static_cast<double>(grid.columns))),
        cell_height(std::min(kCellSideMax, kPlot / static_cast<double>(grid.rows))),
        width(cell_width * static_cast<double>(grid.columns)),
        height(cell_height * static_cast<double>(grid.rows)) {}
};

/// How a cell is drawn: a class of the page's style, and its strength; level 0: not drawn.
struct Ink {
  const char* name = "";
  int level = 0;
  bool operator<(const Ink& other) const {
    return std::pair(std::string_view(name), level) <
           std::pair(std::string_view(other.name), other.level);
  }
  bool operator==(const Ink& other) const {
    return std::string_view(name) == other.name && level == other.level;
  }
};

constexpr Ink kNotFinite{"nf", kLevels};

int level_of(double share) {
  return std::clamp(static_cast<int>(std::lround(share * kLevels)), 1, kLevels);
}

Ink error_ink(double error, double largest) {
  if (!std::isfinite(error)) return kNotFinite;
  if (!(error > 0)) return {};
  return {"err", level_of(1 + (std::log10(error) - std::log10(largest)) / kDecadesShown)};
}

Ink value_ink(double value, double largest) {
  if (!std::isfinite(value)) return kNotFinite;
  if (value == 0) return {};
  return {value > 0 ? "pos" : "neg", level_of(std::fabs(value) / largest)};
}

double largest_of(const Grid& grid) {
  double largest = 0;
  for (const double cell : grid.cells) {
    if (std::isfinite(cell)) largest = std::max(largest, std::fabs(cell));
  }
  return largest;
}

using InkOf = Ink (*)(double, double);

std::string cells_svg(const Grid& grid, const Place& place, InkOf ink_of) {
  const double largest = largest_of(grid);
  std::map<Ink, std::string> paths;
  for (uint64_t row = 0; row < grid.rows; ++row) {
    uint64_t from = 0;
    while (from < grid.columns) {
      const Ink ink = ink_of(grid.cells[row * grid.columns + from], largest);
      uint64_t to = from + 1;
      while (to < grid.columns && ink_of(grid.cells[row * grid.columns + to], largest) == ink) ++to;
      if (ink.level > 0) {
        const double wide = place.cell_width * static_cast<double>(to - from);
        paths[ink] += fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z",
                                  kLeft + place.cell_width * static_cast<double>(from),
                                  kTop + place.cell_height * static_cast<double>(row), wide,
                                  place.cell_height, wide);
      }
      from = to;
    }
  }
  std::string svg;
  for (const auto& [ink, path] : paths) {
    svg += fmt::format("<path class=\"{}\" fill-opacity=\"{:.2f}\" d=\"{}\"/>\n", ink.name,
                       static_cast<double>(ink.level) / kLevels, path);
  }
  return svg;
}

/// Draws the frame with the first and the last index of both axes, and the names of the axes.
std::string axes_svg(const Grid& grid, const Place& place) {
  const double right = kLeft + place.width, bottom = kTop + place.height;
  std::string svg = fmt::format(
      "<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      kLeft, kTop, place.width, place.height);
  svg += svg_text(kLeft, bottom + 13, "start", "0");
  if (grid.of_columns > 1 && place.width >= 44) {
    svg += svg_text(right, bottom + 13, "end", std::to_string(grid.of_columns - 1));
  }
  svg += svg_text(kLeft, bottom + 27, "start", grid.one_axis ? "element" : "column (last axis)");
  if (grid.one_axis) return svg + "\n";
  svg += svg_text(kLeft - 5, kTop + 10, "end", "0");
  if (grid.of_rows > 1 && place.height >= 24) {
    svg += svg_text(kLeft - 5, bottom, "end", std::to_string(grid.of_rows - 1));
  }
  const double middle = kTop + place.height / 2;
  if (place.height >= 60) {
    svg += fmt::format(
        "<text x=\"12\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 12 "
        "{0:.1f})\">row</text>",
        middle);
  }
  return svg + "\n";
}

/// Draws the colour scale from top to bottom, with texts at the top, in the middle and at the
/// bottom.
std::string scale_svg(const Place& place, const std::vector<Ink>& steps,
                      const std::vector<std::string>& texts, bool not_finite) {
  const double x = kLeft + std::max(place.width, kLabelWidth) + kScaleLeft;
  const double step = kScaleHeight / static_cast<double>(steps.size());
  std::string svg;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].level == 0) continue;
    svg += fmt::format(
        "<rect class=\"{}\" fill-opacity=\"{:.2f}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" "
        "height=\"{:.2f}\"/>",
        steps[i].name, static_cast<double>(steps[i].level) / kLevels, x,
        kTop + step * static_cast<double>(i), kScaleWidth, step);
  }
  svg += fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     x, kTop, kScaleWidth, kScaleHeight);
  const double gap =
      texts.size() < 2 ? 0 : (kScaleHeight - 8) / static_cast<double>(texts.size() - 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    svg +=
        svg_text(x + kScaleWidth + 4, kTop + 9 + gap * static_cast<double>(i), "start", texts[i]);
  }
  if (not_finite) {
    const double y = kTop + kScaleHeight + 8;
    svg += fmt::format("<rect class=\"nf\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>",
                       x, y, kScaleWidth, kScaleWidth);
    svg += svg_text(x + kScaleWidth + 4, y + 10, "start", "not finite");
  }
  return svg + "\n";
}

/// Draws lines at the borders of tiles, unless they would be closer than 4 pixels.
std::string tiles_svg(const Grid& grid, const Place& place, const Tile& tile) {
  const double across = place.width * static_cast<double>(tile.columns) /
                        static_cast<double>(std::max<uint64_t>(1, grid.of_columns));
  const double down = place.height * static_cast<double>(tile.rows) /
                      static_cast<double>(std::max<uint64_t>(1, grid.of_rows));
  std::string path;
  for (double x = across; across >= 4 && x < place.width - 0.5; x += across) {
    path += fmt::format("M{:.1f} {}v{:.1f}", kLeft + x, kTop, place.height);
  }
  for (double y = down; down >= 4 && y < place.height - 0.5; y += down) {
    path += fmt::format("M{} {:.1f}h{:.1f}", kLeft, kTop + y, place.width);
  }
  return path.empty() ? "" : fmt::format("<path class=\"tiles\" d=\"{}\"/>\n", path);
}

bool has_not_finite(const Grid& grid) {
  return !std::ranges::all_of(grid.cells, [](double cell) { return std::isfinite(cell); });
}

std::string figure(const Grid& grid, const Place& place, const std::string& content,
                   const std::string& label, const std::string& caption) {
  const double scale_bottom = kTop + kScaleHeight + (has_not_finite(grid) ? kScaleWidth + 12 : 4);
  const double height = std::max(kTop + place.height + 34, scale_bottom);
  return svg_figure(height, content, label, caption);
}

/// Sets the rows and columns of a tensor: all axes but the last are rows.
void set_extent(const Shape& shape, Grid& grid) {
  grid.of_columns = shape.empty() ? 1 : static_cast<uint64_t>(std::max<int64_t>(1, shape.back()));
  grid.of_rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    grid.of_rows *= static_cast<uint64_t>(std::max<int64_t>(1, shape[i]));
  }
  grid.one_axis = shape.size() < 2;
}

/// Returns a grid whose cells have the value of largest magnitude among their elements; values that
/// are not finite count as larger than all others.
Grid grid_of(const Tensor& tensor) {
  Grid grid;
  set_extent(tensor.shape, grid);
  grid.rows = std::min(grid.of_rows, kGridMax);
  grid.columns = std::min(grid.of_columns, kGridMax);
  grid.cells.assign(grid.rows * grid.columns, 0);
  const size_t bytes = byte_size(tensor.dtype);
  const size_t count = std::min<size_t>(tensor.data.size() / bytes, grid.of_rows * grid.of_columns);
  for (size_t i = 0; i < count; ++i) {
    const double value = read_as_double(tensor.dtype, tensor.data.data() + i * bytes);
    double& cell = grid.cells[i / grid.of_columns * grid.rows / grid.of_rows * grid.columns +
                              i % grid.of_columns * grid.columns / grid.of_columns];
    // Written so that NaN counts as larger.
    if (std::isfinite(cell) && !(std::fabs(value) <= std::fabs(cell))) cell = value;
  }
  return grid;
}

std::vector<Ink> steps_of(const char* name) {
  std::vector<Ink> steps;
  for (int level = kLevels; level > 0; --level) steps.push_back({name, level});
  return steps;
}

/// Returns how many elements of `size` one block covers, given `blocks` blocks of `threads`
/// threads.
uint64_t share_of(uint64_t size, uint64_t blocks, uint64_t threads) {
  if (blocks <= 1 || threads == 0) return size;
  const uint64_t least = (size + blocks - 1) / blocks;
  const uint64_t whole = (least + threads - 1) / threads * threads;
  return whole * (blocks - 1) < size ? whole : least;
}

}  // namespace

std::optional<Tile> tile_of(const std::vector<ExportedLaunch>& launches, const Shape& shape) {
  if (launches.empty()) return std::nullopt;
  const ExportedLaunch& launch = launches.back();
  if (launch.grid.size() != 3 || launch.block.size() != 3) return std::nullopt;
  Grid grid;
  set_extent(shape, grid);
  const uint64_t rows = grid.of_rows, columns = grid.of_columns;
  const uint64_t x = launch.grid[0], y = launch.grid[1];
  if (launch.grid[2] != 1 || x * y <= 1) return std::nullopt;
  if (y > 1) {
    if (x > columns || y > rows) return std::nullopt;
    return Tile{share_of(rows, y, launch.block[1]), share_of(columns, x, launch.block[0])};
  }
  if (x == rows) return Tile{1, columns};
  if (rows != 1 || x > columns) return std::nullopt;
  return Tile{1, share_of(columns, x, launch.block[0])};
}

std::string error_figure(const ErrorMap& map, const std::optional<Tile>& tile) {
  if (map.rows == 0 || map.columns == 0 || map.cells.size() != map.rows * map.columns) return "";
  Grid grid;
  set_extent(map.shape, grid);
  grid.rows = map.rows;
  grid.columns = map.columns;
  grid.cells = map.cells;
  const Place place(grid);
  const double largest = largest_of(grid);
  std::string content = cells_svg(grid, place, error_ink);
  if (tile) content += tiles_svg(grid, place, *tile);
  content += axes_svg(grid, place);
  const auto scaled = [&](double decades) {
    return largest > 0    ? fmt::format("{:.2g}", largest * std::pow(10, -decades))
           : decades == 0 ? std::string("0")
                          : std::string();
  };
  content += scale_svg(place, largest > 0 ? steps_of("err") : std::vector<Ink>(1),
                       {scaled(0), scaled(kDecadesShown / 2), scaled(kDecadesShown)},
                       has_not_finite(grid));
  const auto wrong = std::ranges::count_if(map.cells, [](double cell) { return !(cell == 0); });
  const std::string name =
      fmt::format("{} {}{}", clipped(map.output, 60), name_of(map.dtype), to_string(map.shape));
  const std::string blocks =
      tile ? fmt::format("; lines part the tiles of blocks, {} x {}", tile->rows, tile->columns)
           : "";
  return figure(
      grid, place, content,
      fmt::format("Error of {}: {} of {} {}, largest {:.3g}", name, wrong,
                  counted(map.cells.size(), "cell"), wrong == 1 ? "differs" : "differ", largest),
      fmt::format("<strong>Error of {}</strong>: |output - reference|, blank: none{}", markup(name),
                  blocks));
}

std::string input_figure(const std::string& name, const Tensor& tensor) {
  if (tensor.data.empty()) return "";
  const Grid grid = grid_of(tensor);
  const Place place(grid);
  const double largest = largest_of(grid);
  const std::string what =
      fmt::format("{} {}{}", clipped(name, 60), name_of(tensor.dtype), to_string(tensor.shape));
  if (largest == 0 && !has_not_finite(grid)) {
    return fmt::format(
        "<figure><figcaption><strong>Input {}</strong>: each element is 0</figcaption></figure>\n",
        markup(what));
  }
  std::vector<Ink> steps = steps_of("pos");
  for (int level = 1; level <= kLevels; ++level) steps.push_back({"neg", level});
  const std::string top = fmt::format("{:.2g}", largest);
  const std::string content = cells_svg(grid, place, value_ink) + axes_svg(grid, place) +
                              scale_svg(place, steps, {top, "0", "-" + top}, has_not_finite(grid));
  return figure(grid, place, content, fmt::format("Input {}, largest {:.3g}", what, largest),
                fmt::format("<strong>Input {}</strong>: the value that is largest in each cell",
                            markup(what)));
}

}  // namespace gpuemu::cli
