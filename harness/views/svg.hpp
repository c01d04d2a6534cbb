// Pictures as SVG text. Everything is in pixels; text is never smaller than twelve of them.
#pragma once

#include <string>
#include <string_view>

namespace kiln::harness {

/// Text for XML and HTML.
std::string escaped(std::string_view text);

/// Colours that people with any colour vision tell apart (Okabe and Ito), light enough for black text.
namespace colour {
inline constexpr std::string_view blue = "#8fc7ee", orange = "#f0b942", green = "#5cc4a0", yellow = "#f0e442",
                                  purple = "#dba3c3", grey = "#d0d4d9", white = "#ffffff", ink = "#1b1f24",
                                  soft = "#59636e", none = "none";
}

enum class Anchor : unsigned char { start, middle, end };

/// A picture that grows from calls. Text that would not fit its room is left out by the caller: see text_width.
class Svg {
 public:
  static constexpr double font = 13;

  void rect(double x, double y, double w, double h, std::string_view fill, std::string_view stroke = colour::ink,
            std::string_view dashes = "", std::string_view title = "");
  void line(double x1, double y1, double x2, double y2, std::string_view stroke = colour::soft);
  void text(double x, double y, std::string_view words, Anchor = Anchor::start, bool bold = false,
            std::string_view fill = colour::ink, double size = font);
  /// The first of these that fits in a rectangle, in its middle; none when all are too wide.
  void label(double x, double y, double w, double h, std::initializer_list<std::string_view> words);

  /// The whole document, on a white ground.
  std::string take(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

/// About how wide a text is.
double text_width(std::string_view words, double size = Svg::font);

}  // namespace kiln::harness
