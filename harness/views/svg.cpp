#include "harness/views/svg.hpp"

#include <fmt/format.h>

namespace kiln::harness {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

double text_width(std::string_view words, double size) {
  double characters = 0;
  for (const char c : words) characters += (c & 0xC0) != 0x80;  // UTF-8
  return characters * size * 0.58;
}

void Svg::rect(double x, double y, double w, double h, std::string_view fill, std::string_view stroke,
               std::string_view dashes, std::string_view title) {
  body_ += fmt::format(R"(<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" fill="{}" stroke="{}")", x, y, w, h, fill,
                       stroke);
  if (!dashes.empty()) body_ += fmt::format(R"( stroke-dasharray="{}" stroke-width="1.5")", dashes);
  body_ += title.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped(title));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  body_ +=
      fmt::format("<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, stroke);
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor, bool bold, std::string_view fill,
               double size) {
  constexpr std::string_view anchors[] = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  body_ += fmt::format("<text x=\"{:g}\" y=\"{:g}\" fill=\"{}\"{}{}{}>{}</text>\n", x, y, fill, anchors[int(anchor)],
                       bold ? " font-weight=\"600\"" : "", size == font ? "" : fmt::format(" font-size=\"{:g}\"", size),
                       escaped(words));
}

void Svg::label(double x, double y, double w, double h, std::initializer_list<std::string_view> words) {
  if (h < font + 2) return;
  for (const std::string_view candidate : words) {
    if (text_width(candidate) > w - 6) continue;
    return text(x + w / 2, y + h / 2 + font * 0.35, candidate, Anchor::middle);
  }
}

std::string Svg::take(double width, double height, std::string_view title) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
      "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"{2:g}\" role=\"img\">\n"
      "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{4}</svg>\n",
      width, height, font, escaped(title), body_);
}

}  // namespace kiln::harness
