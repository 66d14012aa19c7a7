// Private to this folder: parts of figures in SVG.
#pragma once

#include <string>

namespace gpuemu::cli {

/// Width of every figure; pages scale them to what there is room for.
inline constexpr double kFigureWidth = 340;

/// `anchor`: "start", "middle" or "end".
std::string svg_text(double x, double y, const char* anchor, const std::string& text);
/// A straight line of a class of the page's style.
std::string svg_line(const char* name, double x1, double y1, double x2, double y2);
/// `caption` is markup already, `label` is what a reader without eyes gets.
std::string svg_figure(double height, const std::string& content, const std::string& label,
                       const std::string& caption);

}  // namespace gpuemu::cli
