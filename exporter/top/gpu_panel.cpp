// SPDX-License-Identifier: Apache-2.0
#include "top/gpu_panel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "text/unicode.h"
#include "top/format.h"

namespace igpu::exporter::top {
namespace {

struct Piece {
  std::string text;
  Style style = Style::plain;
};
using Item = std::vector<Piece>;  // stays on one line, if it fits there
using Group = std::vector<Item>;  // stays on one line, if it fits there

int width_of(const Item& item) {
  int width = 0;
  for (const Piece& piece : item) width += cell_width(piece.text);
  return width;
}

constexpr int kGap = 2;     // between items
constexpr int kIndent = 2;  // of what belongs to a GPU

std::size_t class_rank(const EngineRow& engine) {
  const auto found = std::find(kEngineClasses.begin(), kEngineClasses.end(), engine.engine_class);
  return static_cast<std::size_t>(found - kEngineClasses.begin());
}

class Painter {
 public:
  Painter(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context, int width,
          Detail detail, int min_cell)
      : frame_(frame),
        history_(history),
        view_(view),
        context_(context),
        detail_(detail),
        min_cell_(min_cell),
        panel_(width) {}

  GpuPanel paint() {
    const bool several_hosts = frame_.hosts.size() > 1;
    if (detail_ == Detail::line) line_title(several_hosts);
    for (std::size_t h = 0; h < frame_.hosts.size(); ++h) {
      const HostFrame& host = frame_.hosts[h];
      if (view_.focus && view_.focus->host != h) continue;
      host_lines(host, several_hosts);
      for (std::size_t g = 0; g < host.gpus.size(); ++g) {
        const GpuPlace place{h, g};
        if (view_.focus && *view_.focus != place) continue;
        const int begin = y_;
        if (detail_ == Detail::line) {
          gpu_line(host, place, several_hosts);
        } else {
          gpu_block(host.gpus[g], place);
        }
        panel_.regions.push_back(
            {.kind = Region::Kind::gpu, .x = 0, .end = canvas().width(), .y = begin, .bottom = y_, .gpu = place});
      }
    }
    return std::move(panel_);
  }

 private:
  Canvas& canvas() { return panel_.canvas; }
  int width() { return canvas().width(); }

  void one_line(const std::string& text, Style style) {
    if (view_.focus && style != Style::alarm && style != Style::warning) return;
    (void)canvas().put(0, y_++, text, style);
  }

  void host_lines(const HostFrame& host, bool several) {
    const std::string prefix = host.name.empty() ? "" : host.name + ": ";
    switch (host.state) {
      case HostState::waiting:
        return one_line(prefix + "waiting for the first reading", Style::dim);
      case HostState::failed:
        return wrapped(prefix + host.problem, Style::alarm);
      case HostState::ok:
        break;
    }
    if (host.gpus.empty()) return one_line(prefix + "no Intel GPU found", Style::warning);
    if (several && detail_ != Detail::line) one_line(host.name, Style::strong);
    std::string failed;
    for (const std::string& name : host.failed_collectors) failed += (failed.empty() ? "" : ", ") + name;
    if (!failed.empty()) one_line(prefix + "failed this time: " + failed, Style::warning);
    if (host.rows_left_out > 0)
      one_line(prefix + whole(static_cast<double>(host.rows_left_out)) + " samples beyond the limits left out",
               Style::warning);
  }

  // One line; it may be a long one, and then continues on the next.
  void wrapped(const std::string& text, Style style) {
    std::string_view rest = text;
    while (!rest.empty()) {
      std::string_view part = rest;
      int taken = 0;
      std::size_t length = 0, blank = 0;
      while (!part.empty()) {
        const std::string_view at = part;
        taken += cell_width(take_character(part));
        if (taken > width()) break;
        length = rest.size() - part.size();
        if (at.front() == ' ') blank = length;
      }
      if (length == 0) return;
      if (length < rest.size() && blank > 0) length = blank;
      (void)canvas().put(0, y_++, rest.substr(0, length), style);
      rest.remove_prefix(length);
    }
  }

  // --- full and brief ---

  void gpu_block(const GpuFrame& gpu, GpuPlace place) {
    title(gpu, place);
    if (gpu.suspended) {
      (void)canvas().put(kIndent, y_++, "suspended; values that would wake it are not read", Style::dim);
      return flow({missing_items(gpu)});
    }
    if (detail_ == Detail::full) {
      engines(gpu, place);
      flow({clock_items(gpu), power_items(gpu), memory_items(gpu), missing_items(gpu)});
    } else {
      Group all = class_items(gpu);
      for (Group group : {clock_items(gpu), power_items(gpu), memory_items(gpu), missing_items(gpu)}) {
        for (Item& item : group) all.push_back(std::move(item));
      }
      flow_items(all);
    }
  }

  void title(const GpuFrame& gpu, GpuPlace place) {
    std::string status;
    if (gpu.hung) status = "GPU hang recorded";
    const int end = width() - (status.empty() ? 0 : cell_width(status) + 1);
    int x = canvas().put(0, y_, std::to_string(gpu_number(frame_, place)) + " " + gpu.card, Style::strong, end);
    if (!gpu.name.empty()) x = canvas().put(x + kGap, y_, gpu.name, Style::strong, end);
    for (const std::string* text : {&gpu.kind, &gpu.driver, &gpu.device}) {
      if (text->empty() || x + kGap + cell_width(*text) > end) continue;
      x = canvas().put(x + kGap, y_, *text, Style::dim, end);
    }
    if (!status.empty()) canvas().put_right(width(), y_, status, Style::alarm);
    ++y_;
  }

  void engines(const GpuFrame& gpu, GpuPlace place) {
    std::vector<const EngineRow*> rows;
    for (const EngineRow& engine : gpu.engines) rows.push_back(&engine);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const EngineRow* a, const EngineRow* b) { return class_rank(*a) < class_rank(*b); });
    if (rows.empty()) return;
    int name_width = 0;
    for (const EngineRow* row : rows)
      name_width = std::max(name_width, std::min(cell_width(engine_name(gpu, *row)), 13));
    const int room = width() - kIndent;
    const int columns = std::clamp(room / min_cell_, 1, static_cast<int>(rows.size()));
    const int cell = (room + 1) / columns - 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int column = static_cast<int>(i) % columns;
      if (i > 0 && column == 0) ++y_;
      engine_cell(kIndent + column * (cell + 1), cell, name_width, gpu, place, *rows[i]);
    }
    ++y_;
  }

  // The GT stands before the engine where several GTs have engines of one name.
  static std::string engine_name(const GpuFrame& gpu, const EngineRow& engine) {
    const auto same = std::count_if(gpu.engines.begin(), gpu.engines.end(),
                                    [&](const EngineRow& other) { return other.name == engine.name; });
    return same > 1 ? engine.gt + ":" + engine.name : engine.name;
  }

  void engine_cell(int x, int cell, int name_width, const GpuFrame& gpu, GpuPlace place, const EngineRow& engine) {
    const std::size_t rank = class_rank(engine);
    const Style style = rank < kEngineClasses.size() ? class_style(rank) : Style::plain;
    constexpr int kPercentWidth = 6;
    (void)canvas().put(x, y_, engine_name(gpu, engine), Style::dim, x + name_width);
    x += name_width + 1;
    const int room = cell - name_width - 1 - kPercentWidth - 1;
    const int history = std::clamp(min_cell_ > kMinEngineCell ? room / 2 : room * 2 / 5, 0, 120);
    const int bar_end = x + room - history;
    bar(x, bar_end, engine.busy, style);
    canvas().put_right(bar_end + kPercentWidth, y_, percent(engine.busy), engine.busy ? Style::plain : Style::dim);
    sparkline(bar_end + kPercentWidth + 1, history, history_.of(place.host, gpu, engine), style);
  }

  void bar(int x, int end, std::optional<double> ratio, Style style) {
    if (end - x < 3) return;
    canvas().put(x, y_, U'[', Style::dim);
    canvas().put(end - 1, y_, U']', Style::dim);
    if (!ratio) return;
    const int cells = end - x - 2;
    if (!context_.unicode) {
      // A little load is visible.
      int full = static_cast<int>(std::lround(*ratio * cells));
      if (*ratio >= 0.005) full = std::max(full, 1);
      for (int i = 0; i < full; ++i) canvas().put(x + 1 + i, y_, U'|', style);
      return;
    }
    int eighths = static_cast<int>(std::lround(*ratio * cells * 8));
    if (*ratio >= 0.005) eighths = std::max(eighths, 1);
    for (int i = 0; i < cells && eighths > 0; ++i, eighths -= 8)
      canvas().put(x + 1 + i, y_, static_cast<char32_t>(0x2588 + 8 - std::min(eighths, 8)), style);
  }

  void sparkline(int x, int cells, const History::Values& values, Style style) {
    const auto shown = std::min(static_cast<std::size_t>(std::max(cells, 0)), values.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const std::optional<double>& value = values[values.size() - shown + i];
      if (!value) continue;
      const auto level = std::clamp(static_cast<int>(*value * 8), 0, 7);
      const char32_t character =
          context_.unicode ? static_cast<char32_t>(0x2581 + level) : U"_.:-=+*#"[static_cast<std::size_t>(level)];
      canvas().put(x + cells - static_cast<int>(shown - i), y_, character, *value > 0 ? style : Style::dim);
    }
  }

  Group class_items(const GpuFrame& gpu) const {
    const ClassRatios ratios = class_ratios(gpu);
    Group group;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      if (!ratios[i]) continue;
      const std::string name = i == 3 ? "enhance" : std::string(kEngineClasses[i]);
      group.push_back({{name + " ", Style::dim}, {percent(ratios[i]), class_style(i)}});
    }
    return group;
  }

  Group clock_items(const GpuFrame& gpu) const {
    Group group;
    for (const GtRow& gt : gpu.gts) {
      const std::string name = gpu.gts.size() > 1 ? "gt" + gt.gt + " " : "";
      const std::optional<double> highest = gt.highest_hertz ? gt.highest_hertz : gt.max_hertz;
      if (gt.actual_hertz || gt.requested_hertz) {
        Item item{{name + "clock ", Style::dim}};
        item.push_back({gt.actual_hertz ? whole(*gt.actual_hertz / 1e6) : "-"});
        if (highest) item.push_back({"/" + whole(*highest / 1e6), Style::dim});
        item.push_back({" MHz"});
        if (detail_ == Detail::full && gt.requested_hertz)
          item.push_back({" (wants " + whole(*gt.requested_hertz / 1e6) + ")", Style::dim});
        // A setting below what the hardware can do.
        if (gt.max_hertz && highest && *gt.max_hertz < *highest)
          item.push_back({" max " + whole(*gt.max_hertz / 1e6), Style::warning});
        group.push_back(std::move(item));
      }
      std::string reasons;
      for (const std::string& reason : gt.throttle_reasons) reasons += (reasons.empty() ? "" : " ") + reason;
      if (!reasons.empty())
        group.push_back({{name + "throttled: " + (reasons == "any" ? "no reason given" : reasons), Style::warning}});
      if (gt.rc6) group.push_back({{name + "RC6 ", Style::dim}, {percent(gt.rc6)}});
    }
    return group;
  }

  Group power_items(const GpuFrame& gpu) const {
    Group group;
    for (const PowerRow& row : gpu.power) {
      if (!row.watts) continue;
      Item item{{row.domain + " ", Style::dim}};
      const bool at_limit = row.limit_watts && *row.limit_watts > 0 && *row.watts >= 0.98 * *row.limit_watts;
      item.push_back({watts(*row.watts), at_limit ? Style::warning : Style::plain});
      if (row.limit_watts) item.push_back({"/" + whole(*row.limit_watts), Style::dim});
      item.push_back({" W"});
      group.push_back(std::move(item));
    }
    const std::string unit = context_.unicode ? " °C" : " C";
    temperature_items(gpu, unit, group);
    for (const NamedValue& value : gpu.fans)
      group.push_back(
          {{gpu.fans.size() > 1 ? "fan" + value.name + " " : "fan ", Style::dim}, {whole(value.value) + " rpm"}});
    if (detail_ == Detail::full) {
      for (const NamedValue& value : gpu.voltages)
        group.push_back({{value.name + " ", Style::dim}, {whole(value.value * 1000) + " mV"}});
    }
    return group;
  }

  // Sensors that are numbered (vram_ch_0, vram_ch_1, ...) are one item with their range.
  static void temperature_items(const GpuFrame& gpu, const std::string& unit, Group& group) {
    const auto stem = [](const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); };
    std::vector<std::string> done;
    for (const NamedValue& value : gpu.temperatures) {
      const std::string of = stem(value.name);
      double least = value.value, most = value.value;
      int count = 0;
      for (const NamedValue& other : gpu.temperatures) {
        if (of == value.name || other.name == of || stem(other.name) != of) continue;
        least = std::min(least, other.value);
        most = std::max(most, other.value);
        ++count;
      }
      if (count < 3) {
        group.push_back({{value.name + " ", Style::dim}, {whole(value.value) + unit}});
      } else if (std::find(done.begin(), done.end(), of) == done.end()) {
        done.push_back(of);
        std::string name = of;
        while (name.ends_with('_') || name.ends_with(' ')) name.pop_back();
        const std::string range = whole(least) == whole(most) ? "" : whole(least) + "-";
        group.push_back({{name + "0-" + std::to_string(count - 1) + " ", Style::dim}, {range + whole(most) + unit}});
      }
    }
  }

  Group memory_items(const GpuFrame& gpu) const {
    Group group;
    for (const MemoryRow& row : gpu.memory) {
      Item item{{row.region + " ", Style::dim}};
      if (row.used && row.size && *row.size > 0) {
        const double share = *row.used / *row.size;
        item.push_back({short_bytes(row.used), share >= 0.97  ? Style::alarm
                                               : share >= 0.9 ? Style::warning
                                                              : Style::plain});
        item.push_back({"/" + short_bytes(row.size), Style::dim});
        item.push_back({" " + percent(share)});
      } else if (row.used) {
        item.push_back({short_bytes(row.used)});
      } else {
        item.push_back({"-/" + short_bytes(row.size), Style::dim});
      }
      group.push_back(std::move(item));
    }
    for (const CountedBytes& bytes : gpu.bandwidth) {
      if (bytes.per_second)
        group.push_back({{bytes.direction + " ", Style::dim}, {short_bytes(bytes.per_second) + "/s"}});
    }
    const Link& link = gpu.link;
    if (link.speed || link.width) {
      const auto text = [](std::optional<double> speed, std::optional<double> width) {
        std::string out;
        if (speed) out = *speed < 1e10 && std::fmod(*speed, 1e9) != 0 ? watts(*speed / 1e9) : whole(*speed / 1e9);
        if (speed) out += " GT/s";
        if (width) out += (out.empty() ? "x" : " x") + whole(*width);
        return out;
      };
      Item item{{"PCIe ", Style::dim}, {text(link.speed, link.width)}};
      const bool narrow = link.width && link.max_width && *link.width < *link.max_width;
      const bool slow = link.speed && link.max_speed && *link.speed < *link.max_speed;
      // Links slow down to save power; they do not lose lanes.
      if (narrow || slow)
        item.push_back({" of " + text(slow ? link.max_speed : std::nullopt, narrow ? link.max_width : std::nullopt),
                        narrow ? Style::warning : Style::dim});
      group.push_back(std::move(item));
    }
    return group;
  }

  Group missing_items(const GpuFrame& gpu) const {
    Group group;
    const auto add = [&](std::string_view reason, const std::string& before, Style style) {
      std::string names;
      for (const MissingFeature& missing : gpu.missing) {
        if (missing.reason == reason) names += (names.empty() ? "" : ", ") + missing.feature;
      }
      if (names.empty()) return;
      Item item{{before + names, style}};
      group.push_back(std::move(item));
    };
    add("permission", "no permission (see doctor): ", Style::warning);
    if (detail_ == Detail::full) {
      add("kernel", "the kernel lacks: ", Style::dim);
      add("hardware", "the hardware lacks: ", Style::dim);
    }
    const bool from_clients = std::any_of(gpu.engines.begin(), gpu.engines.end(),
                                          [](const EngineRow& engine) { return engine.from_clients; });
    if (from_clients) group.push_back({{"engine time of visible processes only", Style::dim}});
    return group;
  }

  void flow(std::initializer_list<Group> groups) {
    int x = 0;  // 0: the line is empty
    for (const Group& group : groups) {
      int wanted = 0;
      for (const Item& item : group) wanted += width_of(item) + kGap;
      if (x > 0 && x + wanted > width() + kGap) line_feed(x);
      for (const Item& item : group) put_item(item, x);
    }
    if (x > 0) line_feed(x);
  }
  void flow_items(const Group& group) { flow({group}); }

  void line_feed(int& x) {
    ++y_;
    x = 0;
  }

  void put_item(const Item& item, int& x) {
    if (x > 0 && x + width_of(item) > width()) line_feed(x);
    if (x == 0) x = kIndent;
    for (const Piece& piece : item) put_words(piece, x);
    x += kGap;
  }

  // Text that is longer than a line continues on the next.
  void put_words(const Piece& piece, int& x) {
    if (x + cell_width(piece.text) <= width()) {
      x = canvas().put(x, y_, piece.text, piece.style);
      return;
    }
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (x > kIndent && x + cell_width(word) > width()) {
        ++y_;
        x = 2 * kIndent;
      }
      x = canvas().put(x, y_, word, piece.style) + 1;
    }
    --x;
  }

  // --- one line for each GPU ---

  static constexpr int kHostWidth = 18, kCardWidth = 7, kClassWidth = 6, kValueWidth = 6;

  void line_title(bool several_hosts) {
    int x = 4;
    const auto left = [&](int size, std::string_view text) {
      (void)canvas().put(x, y_, text, Style::dim);
      x += size;
    };
    const auto right = [&](int size, std::string_view text) {
      canvas().put_right(x + size, y_, text, Style::dim);
      x += size;
    };
    (void)canvas().put(0, y_, "GPU", Style::dim);
    if (several_hosts) left(kHostWidth, "HOST");
    left(kCardWidth, "CARD");
    for (const std::string_view name : {"RENDR", "COPY", "VIDEO", "ENHNC", "COMP"}) right(kClassWidth, name);
    right(kValueWidth, "MHZ");
    right(kValueWidth, "W");
    right(4, context_.unicode ? "°C" : "C");
    right(kValueWidth, "MEM");
    (void)canvas().put(x + 1, y_, "NAME", Style::dim);
    ++y_;
  }

  void gpu_line(const HostFrame& host, GpuPlace place, bool several_hosts) {
    const GpuFrame& gpu = host.gpus[place.gpu];
    int x = 4;
    const auto right = [&](int size, const std::string& text, Style style = Style::plain) {
      canvas().put_right(x + size, y_, text, text == "-" ? Style::dim : style);
      x += size;
    };
    (void)canvas().put(0, y_, std::to_string(gpu_number(frame_, place)), Style::strong, 3);
    if (several_hosts) {
      (void)canvas().put(x, y_, host.name, Style::plain, x + kHostWidth - 1);
      x += kHostWidth;
    }
    (void)canvas().put(x, y_, gpu.card.empty() ? gpu.device : gpu.card, Style::plain, x + kCardWidth - 1);
    x += kCardWidth;
    const ClassRatios ratios = class_ratios(gpu);
    for (std::size_t i = 0; i < ratios.size(); ++i) right(kClassWidth, percent_cell(ratios[i]), class_style(i));
    std::optional<double> hertz, power, heat;
    bool throttled = false;
    for (const GtRow& gt : gpu.gts) {
      if (gt.actual_hertz) hertz = std::max(hertz.value_or(0), *gt.actual_hertz);
      throttled = throttled || !gt.throttle_reasons.empty();
    }
    for (const PowerRow& row : gpu.power) {  // package and psys hold more than the GPU; a card's is the most
      if (!row.watts) continue;
      if (gpu.kind == "integrated" ? row.domain == "gpu" : row.domain == "card" || row.domain == "package")
        power = std::max(power.value_or(0), *row.watts);
    }
    for (const NamedValue& value : gpu.temperatures) heat = std::max(heat.value_or(value.value), value.value);
    const MemoryRow* local = nullptr;
    for (const MemoryRow& row : gpu.memory) {
      if (row.used && row.size && (local == nullptr || row.region != "system")) local = &row;
    }
    right(kValueWidth, hertz ? whole(*hertz / 1e6) : "-", throttled ? Style::warning : Style::plain);
    right(kValueWidth, power ? watts(*power) : "-");
    right(4, heat ? whole(*heat) : "-");
    const std::optional<double> share =
        local && *local->size > 0 ? std::optional(*local->used / *local->size) : std::nullopt;
    right(kValueWidth, percent(share), share.value_or(0) >= 0.9 ? Style::warning : Style::plain);
    std::string status = gpu.hung ? "GPU hang recorded " : "";
    if (gpu.suspended) status += "suspended ";
    if (throttled) status += "throttled ";
    x = canvas().put(x + 1, y_, status, gpu.hung ? Style::alarm : Style::warning);
    (void)canvas().put(x, y_, gpu.name, Style::dim);
    ++y_;
  }

  const Frame& frame_;
  const History& history_;
  const ViewState& view_;
  const ScreenContext& context_;
  Detail detail_;
  int min_cell_;
  GpuPanel panel_;
  int y_ = 0;
};

}  // namespace

GpuPanel draw_gpus(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                   int width, Detail detail, int min_cell) {
  return Painter(frame, history, view, context, width, detail, min_cell).paint();
}

std::size_t gpu_number(const Frame& frame, GpuPlace place) {
  std::size_t number = place.gpu;
  for (std::size_t h = 0; h < std::min(place.host, frame.hosts.size()); ++h) number += frame.hosts[h].gpus.size();
  return number;
}

ClassRatios class_ratios(const GpuFrame& gpu) {
  ClassRatios ratios;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    double sum = 0;
    int count = 0;
    for (const EngineRow& engine : gpu.engines) {
      if (!engine.busy || engine.engine_class != kEngineClasses[i]) continue;
      sum += *engine.busy;
      ++count;
    }
    if (count > 0) ratios[i] = sum / count;
  }
  return ratios;
}

Style class_style(std::size_t index) { return static_cast<Style>(static_cast<std::size_t>(Style::render) + index); }

}  // namespace igpu::exporter::top
