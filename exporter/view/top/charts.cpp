// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "view/top/screen.h"

namespace igpu::exporter::top {
namespace {

constexpr int kLeastWidth = 38;
constexpr int kLowest = 5, kStep = 3;              // rows of one, with its title
constexpr int kAxis = 4;                           // "100 "
constexpr std::chrono::seconds kLongestPause{15};  // between readings of one line
constexpr const char* kNpu = "NPU";

// Dots of a braille character, by column and row.
constexpr std::array<std::array<unsigned, 4>, 2> kDots{{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

struct Box {
  int x, y, width, height;
};

class Chart {
 public:
  Chart(Canvas& canvas, Box box, bool unicode)
      : canvas_(canvas),
        box_(box),
        unicode_(unicode),
        columns_(box.width - kAxis),
        rows_(box.height - 1),
        dots_(static_cast<std::size_t>(columns_ * rows_)),
        styles_(dots_.size(), Style::plain) {}

  // The highest value of each column of dots; where readings are further apart, the one before.
  void line(const History::Classes& readings, std::size_t index, std::chrono::nanoseconds now,
            std::chrono::nanoseconds span) {
    const int wide = columns_ * 2, high = rows_ * 4;
    const std::chrono::nanoseconds step = span / wide;
    auto next = std::ranges::lower_bound(readings, now - span - kLongestPause, {}, &History::Reading::at);
    std::optional<double> before;
    std::chrono::nanoseconds at{};
    int last = -1;
    for (int column = 0; column < wide; ++column) {
      const auto end = now - span + step * (column + 1);
      std::optional<double> most;
      for (; next != readings.end() && (next->at <= end || column == wide - 1); ++next) {
        before = next->ratios[index];
        at = next->at;
        if (at > end - step && before) most = std::max(most.value_or(0), *before);
      }
      const std::optional<double> value = most ? most : before;
      if (!value || end - at > std::max<std::chrono::nanoseconds>(kLongestPause, step * 2)) {
        last = -1;
        continue;
      }
      const int row = static_cast<int>(std::lround(std::clamp(*value, 0.0, 1.0) * (high - 1)));
      for (int y = std::min(row, last < 0 ? row : last); y <= std::max(row, last); ++y) dot(column, y, index);
      last = row;
    }
  }

  void paint() const {
    (void)canvas_.put(box_.x, box_.y + 1, "100", Style::dim);
    (void)canvas_.put(box_.x + 2, box_.y + rows_, "0", Style::dim);
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      if (dots_[i] == 0) continue;
      const int x = box_.x + kAxis + static_cast<int>(i) % columns_, y = box_.y + 1 + static_cast<int>(i) / columns_;
      canvas_.put(x, y, unicode_ ? static_cast<char32_t>(0x2800 + dots_[i]) : U'*', styles_[i]);
    }
  }

 private:
  // y: from the bottom.
  void dot(int x, int y, std::size_t index) {
    const int from_top = rows_ * 4 - 1 - y;
    const auto cell = static_cast<std::size_t>(from_top / 4 * columns_ + x / 2);
    dots_[cell] |= kDots[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(from_top % 4)];
    styles_[cell] = class_style(index);
  }

  Canvas& canvas_;
  Box box_;
  bool unicode_;
  int columns_, rows_;
  std::vector<unsigned> dots_;
  std::vector<Style> styles_;
};

// A GPU or NPU that was measured in the time that is kept.
struct Charted {
  std::string title;
  std::chrono::nanoseconds now;
  const History::Classes* readings;
};

void draw_chart(Canvas& canvas, Box box, const Charted& charted, const ViewState& view, bool unicode) {
  const std::string span = std::to_string(view.span.count()) + " min";
  const int end = box.x + box.width - 1 - static_cast<int>(span.size());
  canvas.put_right(box.x + box.width, box.y, span, Style::dim);
  int x = canvas.put(box.x, box.y, charted.title + " busy", Style::strong, end);
  Chart chart(canvas, box, unicode);
  // The fullest is drawn last, over the others.
  const ClassRatios now = charted.readings->back().ratios;
  std::array<std::size_t, kEngineClasses> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return now[i].value_or(0); });
  for (const std::size_t i : order) chart.line(*charted.readings, i, charted.now, view.span);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!now[i] || charted.title == kNpu) continue;
    const std::string text = "  " + class_name(static_cast<EngineClass>(i));
    if (x + static_cast<int>(text.size()) >= end) break;
    x = canvas.put(x, box.y, text, class_style(i), end);
  }
  chart.paint();
}

std::vector<Charted> charted_of(const Frame& frame, const History& history, const ViewState& view) {
  std::vector<Charted> all;
  for (std::size_t h = 0; h < frame.hosts.size(); ++h) {
    const HostFrame& host = frame.hosts[h];
    const auto add = [&](std::string title, const std::string& address) {
      const History::Classes& readings = history.classes_of(h, address);
      const auto is_measured = [](const History::Reading& reading) {
        return std::ranges::any_of(reading.ratios, [](const auto& ratio) { return ratio.has_value(); });
      };
      if (std::ranges::any_of(readings, is_measured)) all.push_back({std::move(title), host.time, &readings});
    };
    for (std::size_t g = 0; g < host.gpus.size(); ++g)
      if (const GpuPlace place{h, g}; !view.focus || *view.focus == place)
        add(std::to_string(gpu_number(frame, place)), host.gpus[g].gpu.address);
    if (view.focus) continue;
    for (const snapshot::Npu& npu : host.npus) add(kNpu, npu.address);
  }
  return all;
}

// Charts side by side, if there are enough.
int fitting(int width) { return std::max(1, width / kLeastWidth); }

}  // namespace

int chart_rows(const Frame& frame, const History& history, const ViewState& view, int width, int free) {
  if (free < kLowest || view.span.count() == 0) return 0;
  const int count = static_cast<int>(charted_of(frame, history, view).size());
  if (count == 0) return 0;
  const int lines = std::min((count + fitting(width) - 1) / fitting(width), free / kLowest);
  const int height = free / lines;
  return lines * (kLowest + (height - kLowest) / kStep * kStep);
}

void draw_charts(Canvas& canvas, const Frame& frame, const History& history, const ViewState& view,
                 const ScreenContext& context, int y, int rows) {
  const std::vector<Charted> all = charted_of(frame, history, view);
  const int count = static_cast<int>(all.size());
  if (count == 0 || rows < kLowest) return;
  const int lines = std::min((count + fitting(canvas.width()) - 1) / fitting(canvas.width()), rows / kLowest);
  const int columns = std::min((count + lines - 1) / lines, fitting(canvas.width()));
  const int width = (canvas.width() + 1) / columns - 1, height = rows / lines;
  for (int i = 0; i < std::min(count, lines * columns); ++i)
    draw_chart(canvas, {i % columns * (width + 1), y + i / columns * height, width, height},
               all[static_cast<std::size_t>(i)], view, context.unicode);
}

}  // namespace igpu::exporter::top
