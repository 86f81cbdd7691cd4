// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "level_zero/report.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr double kLeft = 64, kRight = 12, kTop = 34, kBottom = 40;
constexpr double kBarLeft = 240, kBarRight = 60;
constexpr std::array<std::string_view, 6> kColours = {"#1f77b4", "#d95f02", "#2ca02c", "#c51b7d", "#7570b3", "#8c6d31"};

std::string pixel(double value) { return formatted("%.1f", value); }

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = {}) {
  return "<text x='" + pixel(x) + "' y='" + pixel(y) + "' text-anchor='" + std::string(anchor) + "'" +
         std::string(more) + ">" + html_escaped(text) + "</text>";
}

std::string frame(const ChartTitle& title) {
  std::string svg =
      "<rect width='" + pixel(kChartWidth) + "' height='" + pixel(kChartHeight) + "' fill='#fff' stroke='#ccc'/>";
  svg += text_at(kChartWidth / 2, 20, "middle", title.title, " font-weight='bold'");
  svg += text_at(kChartWidth / 2, kChartHeight - 6, "middle", title.x);
  svg += text_at(0, 0, "middle", title.y, " transform='translate(13," + pixel(kChartHeight / 2) + ") rotate(-90)'");
  return svg;
}

struct Range {
  double low = 0, high = 0;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0; }
};

class Axes {
 public:
  explicit Axes(const std::vector<Curve>& curves) {
    for (const Curve& curve : curves)
      for (const auto& [x, y] : curve.points) {
        x_.include(x);
        y_.include(y);
      }
  }
  double x(double value) const { return kLeft + (kChartWidth - kLeft - kRight) * x_.share(value); }
  double y(double value) const { return kChartHeight - kBottom - (kChartHeight - kTop - kBottom) * y_.share(value); }

  std::string grid() const {
    std::string svg;
    for (const double value : round_values(y_.low, y_.high)) {
      svg +=
          "<path d='M" + pixel(kLeft) + " " + pixel(y(value)) + "H" + pixel(kChartWidth - kRight) + "' stroke='#eee'/>";
      svg += text_at(kLeft - 4, y(value) + 4, "end", short_number(value));
    }
    for (const double value : round_values(x_.low, x_.high))
      svg += text_at(x(value), kChartHeight - kBottom + 14, "middle", short_number(value));
    return svg;
  }

 private:
  Range x_, y_;
};

// Keeps the lowest, the highest and the last point of each column of pixels.
class Thinned {
 public:
  explicit Thinned(const Axes& axes) : axes_(axes) {}
  void add(double x, double y) {
    const double column = std::floor(axes_.x(x));
    if (column != column_) {
      flush();
      column_ = column;
      low_ = high_ = y;
    }
    low_ = std::min(low_, y);
    high_ = std::max(high_, y);
    last_ = y;
  }
  std::string path() {
    flush();
    return path_;
  }

 private:
  void flush() {
    if (column_ < 0) return;
    draw(low_);
    if (high_ != low_) draw(high_);
    if (last_ != high_) draw(last_);
  }
  void draw(double y) {
    path_ += path_.empty() ? 'M' : 'L';
    path_ += pixel(column_) + " " + pixel(axes_.y(y));
  }

  const Axes& axes_;
  std::string path_;
  double column_ = -1, low_ = 0, high_ = 0, last_ = 0;
};

}  // namespace

std::string short_number(double value) {
  return std::abs(value) >= 100 ? formatted("%.0f", value) : formatted("%.3g", value);
}

std::vector<double> round_values(double low, double high) {
  constexpr double kAbout = 4;  // steps
  const double raw = (high - low) / kAbout;
  if (!std::isnormal(raw)) return {low};
  const double unit = std::pow(10, std::floor(std::log10(raw)));
  const double step = unit * (raw < 1.5 * unit ? 1 : raw < 3.5 * unit ? 2 : raw < 7.5 * unit ? 5 : 10);
  std::vector<double> values;
  for (double i = std::ceil(low / step); i * step <= high; ++i) values.push_back(i == 0 ? 0 : i * step);
  return values;
}

std::string line_chart(const ChartTitle& title, const std::vector<Curve>& curves) {
  const Axes axes(curves);
  std::string svg = frame(title) + axes.grid();
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Thinned line(axes);
    for (const auto& [x, y] : curves[i].points) line.add(x, y);
    const std::string colour(kColours[i % kColours.size()]);
    svg += "<path d='" + line.path() + "' fill='none' stroke='" + colour + "' stroke-width='1.5'/>";
    svg +=
        text_at(kLeft + 8, kTop + 12 + 14 * static_cast<double>(i), "start", curves[i].name, " fill='" + colour + "'");
  }
  if (curves.empty()) svg += text_at(kChartWidth / 2, kChartHeight / 2, "middle", "none");
  return svg;
}

std::string bar_chart(const ChartTitle& title, const std::vector<std::pair<std::string, double>>& bars,
                      std::string_view when_empty) {
  std::string svg = frame(title);
  if (bars.empty()) return svg + text_at(kChartWidth / 2, kChartHeight / 2, "middle", when_empty);
  Range range;
  for (const auto& bar : bars) range.include(bar.second);
  const auto x = [&](double value) { return kBarLeft + (kChartWidth - kBarLeft - kBarRight) * range.share(value); };
  const double height = (kChartHeight - kTop - kBottom) / static_cast<double>(bars.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, value] = bars[i];
    const double y = kTop + height * static_cast<double>(i);
    const double left = std::min(x(0), x(value)), right = std::max(x(0), x(value));
    svg += "<rect x='" + pixel(left) + "' y='" + pixel(y + height * 0.1) + "' width='" +
           pixel(std::max(1.0, right - left)) + "' height='" + pixel(height * 0.8) + "' fill='" +
           std::string(kColours[0]) + "'/>";
    svg += text_at(kBarLeft - 4, y + height / 2 + 4, "end", name);
    svg += text_at(right + 4, y + height / 2 + 4, "start", short_number(value));
  }
  return svg;
}

}  // namespace igpu::exporter
