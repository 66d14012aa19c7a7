// Private to this folder: parts of SVG figures.
#pragma once

#include <string>

namespace gpuemu::cli {

/// Width of every figure; pages scale figures to the available space.
inline constexpr double kFigureWidth = 340;

/// `anchor` is "start", "middle" or "end".
std::string svg_text(double x, double y, const char* anchor, const std::string& text);
/// Draws a straight line in a class of the page's style.
std::string svg_line(const char* name, double x1, double y1, double x2, double y2);
/// `caption` is markup already; `label` is for screen readers.
std::string svg_figure(double height, const std::string& content, const std::string& label,
                       const std::string& caption);

}  // namespace gpuemu::cli
