#include "cli/report/svg.h"

#include <fmt/core.h>

#include "cli/report/escape.h"

namespace gpuemu::cli {

std::string svg_text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     markup(text));
}

std::string svg_line(const char* name, double x1, double y1, double x2, double y2) {
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", name, x1, y1, x2,
                     y2);
}

std::string svg_figure(double height, const std::string& content, const std::string& label,
                       const std::string& caption) {
  return fmt::format(
      "<figure><svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}</svg>"
      "<figcaption>{}</figcaption></figure>\n",
      kFigureWidth, height, markup(label), content, caption);
}

}  // namespace gpuemu::cli
