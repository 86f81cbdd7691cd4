// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "igpu/device.h"
#include "igpu/words.h"
#include "text/text.h"
#include "view/report/gpu_summary.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

using namespace snapshot;
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
constexpr int kPercentWidth = 6;

// Shares from which a meter is high, and full; the page at "/" has the same.
constexpr double kHigh = 0.7, kFull = 0.9;

Style level_style(std::optional<double> share, Style below) {
  return share.value_or(0) >= kFull ? Style::alarm : share.value_or(0) >= kHigh ? Style::warning : below;
}
// The same for a terminal without colours.
std::string level_sign(std::optional<double> share) {
  return share.value_or(0) >= kFull ? "!" : share.value_or(0) >= kHigh ? "+" : "";
}

template <class Memory>
std::optional<double> share_of(const Memory& row) {
  if (!row.used || !row.size || row.size->value <= 0) return std::nullopt;
  return row.used->value / row.size->value;
}

// The values in a line of one GPU, or of several.
struct Sums {
  ClassRatios busy;  // a mean, once it is complete
  std::optional<double> hertz, watts, heat;
  MemoryUse memory;
  bool throttled = false;
  std::size_t gpus = 0;
  std::map<State::Word, std::size_t> states;

  void add(const GpuModel& gpu, Seconds now) {
    const ClassRatios ratios = class_ratios(gpu);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      add_to(busy[i], ratios[i]);
      if (ratios[i]) ++having_[i];
    }
    for (const Frequency& row : rows_of(gpu.frequencies))
      if (row.actual) hertz = std::max(hertz.value_or(0), row.actual->value);
    for (const Throttling& row : rows_of(gpu.throttling)) throttled = throttled || row.limited;
    for (const Temperature& row : rows_of(gpu.temperatures))
      heat = std::max(heat.value_or(row.value.value), row.value.value);
    if (const Power* const draw = draw_of(gpu); draw != nullptr) add_to(watts, value_of(draw->mean));
    if (const MemoryUse of_gpu = memory_of(gpu); share_of(of_gpu)) {
      memory.used = Bytes{(memory.used ? memory.used->value : 0) + of_gpu.used->value};
      memory.size = Bytes{(memory.size ? memory.size->value : 0) + of_gpu.size->value};
    }
    ++gpus;
    ++states[state_of(gpu, now).word];
  }
  ClassRatios means() const {
    ClassRatios out = busy;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i]) *out[i] /= having_[i];
    return out;
  }
  // "2 of 8 HUNG, 1 ASLEEP"; what works is not named.
  std::string states_text() const {
    std::string out;
    for (auto state = states.rbegin(); state != states.rend(); ++state) {
      if (state->first <= State::Word::busy) continue;
      out += (out.empty() ? "" : ", ") + std::to_string(state->second) + " " + std::string(to_string(state->first));
    }
    return out;
  }

 private:
  std::array<int, kEngineClasses> having_{};  // GPUs with a value of the class
};

std::size_t index_of(EngineClass engine_class) { return static_cast<std::size_t>(engine_class); }

// What the GPU reports of a GT; each may be null.
struct Gt {
  const Frequency* clock = nullptr;
  const Throttling* throttling = nullptr;
  const Residency* rc6 = nullptr;
};

std::map<unsigned, Gt> gts_of(const GpuModel& gpu) {
  std::map<unsigned, Gt> gts;
  for (const Frequency& row : rows_of(gpu.frequencies)) gts[row.gt].clock = &row;
  for (const Throttling& row : rows_of(gpu.throttling)) gts[row.gt].throttling = &row;
  for (const Residency& row : rows_of(gpu.rc6)) gts[row.gt].rc6 = &row;
  return gts;
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
    const bool lines = detail_ == Detail::line || detail_ == Detail::hosts;
    if (lines) line_title(several_hosts);
    Sums total;
    for (std::size_t h = 0; h < frame_.hosts.size(); ++h) {
      const HostFrame& host = frame_.hosts[h];
      if (view_.focus && view_.focus->host != h) continue;
      host_lines(host, several_hosts);
      Sums of_host;
      for (std::size_t g = 0; g < host.gpus.size(); ++g) {
        const GpuPlace place{h, g};
        if (view_.focus && *view_.focus != place) continue;
        of_host.add(host.gpus[g], host.unix_time);
        total.add(host.gpus[g], host.unix_time);
        if (detail_ == Detail::hosts) continue;
        const int begin = y_;
        if (detail_ == Detail::line) {
          gpu_line(host, place);
        } else {
          gpu_block(host.gpus[g], place);
        }
        panel_.regions.push_back(
            {.kind = Region::Kind::gpu, .x = 0, .end = canvas().width(), .y = begin, .bottom = y_, .gpu = place});
      }
      if (detail_ == Detail::hosts && of_host.gpus > 0) sum_line(host.name, of_host);
      if (!view_.focus) channels(host);
      if (!view_.focus)
        for (const Npu& npu : host.npus) npu_line(npu, several_hosts && lines ? host.name : "");
    }
    if (lines && total.gpus > 1) sum_line(several_hosts ? "all" : "", total);
    return std::move(panel_);
  }

 private:
  Canvas& canvas() { return panel_.canvas; }
  int width() { return canvas().width(); }

  void one_line(const std::string& text, Style style) {
    if (view_.focus && style != Style::alarm && style != Style::warning) return;
    wrapped(text, style);
  }

  void host_lines(const HostFrame& host, bool several) {
    const std::string prefix = host.name.empty() ? "" : host.name + ": ";
    switch (host.state) {
      case HostState::waiting: return one_line(prefix + "waiting for the first reading", Style::dim);
      case HostState::failed: return wrapped(prefix + host.problem, Style::alarm);
      case HostState::ok: break;
    }
    if (host.gpus.empty() && host.npus.empty()) {
      if (host.unbound.empty()) one_line(prefix + "No Intel GPU found", Style::warning);
      for (const snapshot::Unbound& gpu : host.unbound) one_line(prefix + line_of(gpu), Style::warning);
      return;
    }
    if (several && detail_ != Detail::line && detail_ != Detail::hosts && !view_.focus)
      (void)canvas().put_name(0, y_++, host.name, Style::strong);
    if (!host.failed_collectors.empty())
      one_line(prefix + "failed this time: " + joined(host.failed_collectors), Style::warning);
    if (host.rows_left_out > 0)
      one_line(prefix + whole(static_cast<double>(host.rows_left_out)) + " samples beyond the limits left out",
               Style::warning);
  }

  // One line; it may be a long one, and then continues on the next.
  void wrapped(const std::string& text, Style style) { y_ = canvas().put_wrapped(0, y_, text, style); }

  // What does not fit into the line is left out as a whole.
  void put_whole(int& x, const Item& item) {
    if (x + kGap + width_of(item) > width()) return;
    x += kGap;
    for (const Piece& piece : item) x = canvas().put(x, y_, piece.text, piece.style);
  }

  // One line for each virtual function; without detail, of those that have a driver.
  void function_lines(const GpuModel& gpu) {
    for (const VirtualFunction& function : gpu.functions) {
      if (detail_ == Detail::brief && function.driver == "none") continue;
      int x = canvas().put(kIndent, y_, "vf" + std::to_string(function.number), Style::strong);
      x = canvas().put_name(x + kGap, y_, function.driver, Style::dim);
      if (!function.workload.empty()) x = canvas().put_name(x + kGap, y_, function.workload, Style::plain);
      bool idle = !function.busy.empty();
      for (const EngineClassLoad& load : function.busy) {
        if (!load.busy || load.busy->value < kIdleShare) continue;
        idle = false;
        put_whole(x, {{class_name(load.engine_class) + " ", Style::dim},
                      {percent(value_of(load.busy)), class_style(index_of(load.engine_class))}});
      }
      if (idle) put_whole(x, {{"idle", Style::dim}});
      if (detail_ == Detail::full) put_whole(x, {{function.address, Style::dim}});
      ++y_;
    }
  }

  // Pictures per second; without detail only of those that are stalled.
  void channels(const HostFrame& host) {
    Group group;
    for (const ChannelRate& channel : host.channel_rates) {
      const bool stalled = channel.stalled > 0;
      if (detail_ != Detail::full && !stalled) continue;
      Item item{{channel.name + " ", Style::dim}};
      if (stalled) {
        item.push_back({"stalled " + whole(channel.stalled) + " s", Style::alarm});
      } else {
        const bool slow = channel.nominal && channel.rate && *channel.rate < 0.9 * *channel.nominal;
        item.push_back({channel.rate ? tenths(*channel.rate) : "-", slow ? Style::warning : Style::plain});
      }
      if (channel.nominal && !stalled) item.push_back({" of " + tenths(*channel.nominal), Style::dim});
      group.push_back(std::move(item));
    }
    if (host.channel_rates.empty()) return;
    const std::size_t count = host.channel_rates.size();
    const std::string what = group.empty() ? ", none is stalled" : ", pictures per second";
    (void)canvas().put(0, y_++, std::to_string(count) + (count == 1 ? " channel" : " channels") + what, Style::strong);
    flow({group});
  }

  // The same line in any detail.
  void npu_line(const Npu& npu, const std::string& host) {
    int x = canvas().put(0, y_, "NPU", Style::strong);
    const auto put = [&](const Item& item) { put_whole(x, item); };
    if (!host.empty()) x = canvas().put_name(x + kGap, y_, host, Style::plain);
    if (npu.busy)
      put({{"busy ", Style::dim}, {percent(value_of(npu.busy)), class_style(index_of(EngineClass::compute))}});
    if (npu.frequency) {
      const std::string most = npu.max_frequency ? "/" + whole(npu.max_frequency->value / 1e6) : "";
      put({{"frequency ", Style::dim}, {whole(npu.frequency->value / 1e6)}, {most, Style::dim}, {" MHz"}});
    }
    if (npu.resident_memory) put({{"memory ", Style::dim}, {short_bytes(value_of(npu.resident_memory))}});
    if (npu.suspended.value_or(false)) put({{"asleep", Style::warning}});
    if (npu.recoveries && npu.recoveries->value > 0) put({{"resets " + whole(npu.recoveries->value), Style::alarm}});
    put({{npu.name.empty() ? npu.address : npu.name, Style::dim}});
    ++y_;
  }

  // --- full and brief ---

  void gpu_block(const GpuModel& gpu, GpuPlace place) {
    title(gpu, place);
    if (gpu.suspended.value_or(false)) {
      (void)canvas().put(kIndent, y_++, "asleep; values appear when a program wakes it", Style::dim);
      flow({missing_items(gpu)});
      return function_lines(gpu);
    }
    if (detail_ == Detail::full) {
      engines(gpu, place);
      flow({clock_items(gpu), power_items(gpu), memory_items(gpu), more_items(gpu), missing_items(gpu)});
    } else {
      class_bars(gpu);
      const bool link_fits = meters(gpu);
      flow({throttle_items(gpu), link_fits ? Group() : narrow_link_items(gpu), missing_items(gpu)});
    }
    function_lines(gpu);
  }

  void title(const GpuModel& gpu, GpuPlace place) {
    const std::string status = trouble_of(gpu, frame_.hosts[place.host].unix_time);
    const int end = width() - (status.empty() ? 0 : cell_width(status) + 1);
    int x = canvas().put(0, y_, std::to_string(gpu_number(frame_, place)), Style::strong) + 1;
    x = canvas().put_words(x, y_, gpu.gpu.card, Style::strong, end);
    if (!gpu.gpu.name.empty()) x = canvas().put_name(x + kGap, y_, gpu.gpu.name, Style::strong, end);
    const std::string_view kind = gpu.identified ? to_string(gpu.gpu.kind) : "";
    const std::string_view driver = gpu.identified ? to_string(gpu.gpu.driver) : "";
    for (const std::string_view text : {kind, driver, std::string_view(gpu.gpu.address)}) {
      if (text.empty() || x + kGap + cell_width(text) > end) continue;
      x = canvas().put(x + kGap, y_, text, Style::dim, end);
    }
    if (!status.empty()) canvas().put_right(width(), y_, status, Style::alarm);
    ++y_;
  }

  void engines(const GpuModel& gpu, GpuPlace place) {
    std::vector<const Engine*> rows;
    for (const Engine& engine : rows_of(gpu.engines))
      if (is_measured(engine)) rows.push_back(&engine);
    if (rows.empty()) return;
    int name_width = 0;
    for (const Engine* row : rows) name_width = std::max(name_width, std::min(cell_width(engine_name(gpu, *row)), 13));
    const int room = width() - kIndent;
    const int columns = std::clamp(room / min_cell_, 1, static_cast<int>(rows.size()));
    const int cell = (room + 1) / columns - 1;
    name_width = std::min(name_width, cell - 1 - kPercentWidth);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int column = static_cast<int>(i) % columns;
      if (i > 0 && column == 0) ++y_;
      engine_cell(kIndent + column * (cell + 1), cell, name_width, gpu, place, *rows[i]);
    }
    ++y_;
  }

  // The GT stands before the engine where several GTs have engines of one name.
  static std::string engine_name(const GpuModel& gpu, const Engine& engine) {
    const auto same = std::ranges::count_if(
        *gpu.engines, [&](const Engine& other) { return other.name == engine.name && is_measured(other); });
    return same > 1 ? (engine.gt ? std::to_string(*engine.gt) : "") + ":" + engine.name : engine.name;
  }

  void engine_cell(int x, int cell, int name_width, const GpuModel& gpu, GpuPlace place, const Engine& engine) {
    const Style style = class_style(index_of(engine.engine_class));
    (void)canvas().put_name(x, y_, engine_name(gpu, engine), Style::dim, x + name_width);
    x += name_width + 1;
    const int room = cell - name_width - 1 - kPercentWidth - 1;
    const int history = std::clamp(min_cell_ > kMinEngineCell ? room / 2 : room * 2 / 5, 0, 120);
    const int bar_end = x + room - history;
    bar(x, bar_end, value_of(engine.busy), style);
    share(bar_end + kPercentWidth, value_of(engine.busy));
    sparkline(bar_end + kPercentWidth + 1, history, history_.of(place.host, gpu, engine), style);
  }

  // Ends before column `end`; its sign follows.
  void share(int end, std::optional<double> ratio) {
    canvas().put_right(end, y_, percent(ratio), ratio ? level_style(ratio, Style::plain) : Style::dim);
    (void)canvas().put(end, y_, level_sign(ratio), level_style(ratio, Style::plain));
  }

  void bar(int x, int end, std::optional<double> ratio, Style style) {
    style = level_style(ratio, style);
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

  // A bar for each class, in columns that are the same for all GPUs.
  void class_bars(const GpuModel& gpu) {
    constexpr int kName = 7, kLeastCell = 25;
    const ClassRatios ratios = class_ratios(gpu);
    const int columns = std::clamp((width() - kIndent + 1) / (kLeastCell + 1), 1, static_cast<int>(kEngineClasses));
    const int cell = (width() - kIndent + 1) / columns - 1;
    int column = 0;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      if (!ratios[i]) continue;
      if (column == columns) {
        column = 0;
        ++y_;
      }
      const int x = kIndent + column++ * (cell + 1), end = x + cell - 1 - kPercentWidth;
      (void)canvas().put_name(x, y_, class_name(static_cast<EngineClass>(i)), Style::dim, x + kName);
      bar(x + kName + 1, end, ratios[i], class_style(i));
      share(end + kPercentWidth, ratios[i]);
    }
    if (column > 0) ++y_;
  }

  // The most important values, in columns that are the same for all GPUs. Units tell what they are. False: the line
  // had no room for the PCIe link.
  bool meters(const GpuModel& gpu) {
    int begin = kIndent;
    bool any = false;
    const auto meter = [&](int cells, const Group& group, std::size_t labels) {
      const bool fits = group.empty() || begin + width_of(group.front()) <= width();
      if (!group.empty() && fits) {
        any = true;
        int x = begin;
        for (std::size_t i = labels; i < group.front().size(); ++i)
          x = canvas().put(x, y_, group.front()[i].text, group.front()[i].style);
      }
      begin += cells;
      return fits;
    };
    Group clock, memory;
    const Frequency* fastest = nullptr;
    for (const Frequency& row : rows_of(gpu.frequencies))
      if (row.actual && (fastest == nullptr || *fastest->actual < *row.actual)) fastest = &row;
    if (fastest != nullptr) clock.push_back(clock_item("", *fastest));
    for (const MemoryRegion& row : rows_of(gpu.memory))
      if (share_of(row)) memory.assign(1, memory_item(row));
    const Power* const draw = draw_of(gpu);
    Group power, heat;
    if (draw != nullptr && draw->mean) power.push_back(power_item(gpu, *draw));
    if (const Temperature* const sensor = temperature_of(gpu))
      heat.push_back({{whole(sensor->value.value) + degrees()}});
    (void)meter(25, clock, 1);
    (void)meter(14, power, 1);
    (void)meter(7, heat, 0);
    (void)meter(20, memory, 1);
    const bool link_fits = meter(0, link_items(gpu), 0);
    if (any) ++y_;
    return link_fits;
  }

  Group clock_items(const GpuModel& gpu) const {
    Group group;
    const std::map<unsigned, Gt> gts = gts_of(gpu);
    for (const auto& [id, gt] : gts) {
      const std::string name = gts.size() > 1 ? "gt" + std::to_string(id) + " " : "";
      if (gt.clock != nullptr && (gt.clock->actual || gt.clock->requested))
        group.push_back(clock_item(name, *gt.clock));
      if (gt.throttling != nullptr) add_throttling(group, name, *gt.throttling);
      if (gt.rc6 != nullptr && gt.rc6->ratio)
        group.push_back({{name + "RC6 ", Style::dim}, {percent(value_of(gt.rc6->ratio))}});
    }
    return group;
  }

  static void add_throttling(Group& group, const std::string& name, const Throttling& row) {
    if (!row.limited) return;
    std::string reasons;
    for (const std::string_view reason : throttle_reasons(row)) reasons += " " + std::string(reason);
    group.push_back({{name + "throttled:" + reasons, Style::warning}});
  }
  static Group throttle_items(const GpuModel& gpu) {
    Group group;
    const std::vector<Throttling>& rows = rows_of(gpu.throttling);
    for (const Throttling& row : rows)
      add_throttling(group, rows.size() > 1 ? "gt" + std::to_string(row.gt) + " " : "", row);
    return group;
  }

  Item clock_item(const std::string& name, const Frequency& clock) const {
    const auto megahertz = [](const Reading<Hertz>& hertz) { return whole(hertz->value / 1e6); };
    const Reading<Hertz>& highest = clock.rp0 ? clock.rp0 : clock.max;
    Item item{{name + "frequency ", Style::dim}};
    item.push_back({clock.actual ? megahertz(clock.actual) : "-"});
    if (highest) item.push_back({"/" + megahertz(highest), Style::dim});
    item.push_back({" MHz"});
    if (detail_ == Detail::full && clock.requested)
      item.push_back({" (wants " + megahertz(clock.requested) + ")", Style::dim});
    // A setting below what the hardware can do.
    if (clock.max && highest && *clock.max < *highest) item.push_back({" max " + megahertz(clock.max), Style::warning});
    return item;
  }

  Group power_items(const GpuModel& gpu) const {
    Group group;
    for (const Power& row : rows_of(gpu.power))
      if (row.mean) group.push_back(power_item(gpu, row));
    temperature_items(gpu, degrees(), group);
    const std::vector<Fan>& fans = rows_of(gpu.fans);
    for (const Fan& fan : fans)
      group.push_back(
          {{fans.size() > 1 ? "fan" + fan.name + " " : "fan ", Style::dim}, {whole(fan.speed.value) + " rpm"}});
    if (detail_ == Detail::full) {
      for (const Voltage& row : rows_of(gpu.voltages)) {
        const std::string name = &row == &gpu.voltages->front() ? "voltage" : row.domain;
        group.push_back({{name + " ", Style::dim}, {whole(row.value.value * 1000) + " mV"}});
      }
    }
    return group;
  }

  std::string degrees() const { return context_.unicode ? " °C" : " C"; }

  static Item power_item(const GpuModel& gpu, const Power& row) {
    const PowerLimit* const limit = power_limit_of(gpu, row.domain);
    std::optional<double> share;
    if (limit != nullptr && limit->value.value > 0) share = row.mean->value / limit->value.value;
    Item item{{(&row == draw_of(gpu) ? "power " : row.domain + " "), Style::dim}};
    item.push_back({tenths(row.mean->value), level_style(share, Style::plain)});
    if (limit != nullptr) item.push_back({"/" + whole(limit->value.value), Style::dim});
    item.push_back({" W"});
    item.push_back({level_sign(share), level_style(share, Style::plain)});
    return item;
  }

  // Sensors that are numbered (vram_ch_0, vram_ch_1, ...) are one item with their range.
  static void temperature_items(const GpuModel& gpu, const std::string& unit, Group& group) {
    const auto stem = [](const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); };
    std::vector<std::string> done;
    const Temperature* const main = temperature_of(gpu);
    for (const Temperature& row : rows_of(gpu.temperatures)) {
      const std::string of = stem(row.sensor);
      double least = row.value.value, most = row.value.value;
      int count = 0;
      for (const Temperature& other : *gpu.temperatures) {
        if (of == row.sensor || other.sensor == of || stem(other.sensor) != of) continue;
        least = std::min(least, other.value.value);
        most = std::max(most, other.value.value);
        ++count;
      }
      if (count < 3) {
        const std::string name = &row == main ? "temperature" : row.sensor;
        group.push_back({{name + " ", Style::dim}, {whole(row.value.value) + unit}});
      } else if (!contains(done, of)) {
        done.push_back(of);
        std::string name = of;
        while (name.ends_with('_') || name.ends_with(' ')) name.pop_back();
        const std::string range = whole(least) == whole(most) ? "" : whole(least) + "-";
        group.push_back({{name + "0-" + std::to_string(count - 1) + " ", Style::dim}, {range + whole(most) + unit}});
      }
    }
  }

  static Item memory_item(const MemoryRegion& row) {
    Item item{{row.name + " ", Style::dim}};
    const std::optional<double> used = value_of(row.used), size = value_of(row.size);
    if (const std::optional<double> share = share_of(row)) {
      item.push_back({short_bytes(used), level_style(share, Style::plain)});
      item.push_back({"/" + short_bytes(size), Style::dim});
      item.push_back({" " + percent(share) + level_sign(share), level_style(share, Style::plain)});
    } else if (used) {
      item.push_back({short_bytes(used)});
    } else {
      item.push_back({"-/" + short_bytes(size), Style::dim});
    }
    return item;
  }

  Group memory_items(const GpuModel& gpu) const {
    Group group;
    for (const MemoryRegion& row : rows_of(gpu.memory)) group.push_back(memory_item(row));
    for (const Bandwidth& row : rows_of(gpu.memory_bandwidth)) {
      if (row.rate) group.push_back({{row.direction + " ", Style::dim}, {short_bytes(value_of(row.rate)) + "/s"}});
    }
    for (Item& item : link_items(gpu)) group.push_back(std::move(item));
    return group;
  }

  static Group narrow_link_items(const GpuModel& gpu) {
    Group group = link_items(gpu);
    if (!group.empty() && group.front().back().style != Style::warning) group.clear();
    return group;
  }

  static Group link_items(const GpuModel& gpu) {
    Group group;
    if (gpu.pcie && (gpu.pcie->speed || gpu.pcie->width)) {
      const PcieLink& link = *gpu.pcie;
      const auto text = [](std::optional<double> speed, std::optional<double> width) {
        std::string out;
        if (speed) out = *speed < 1e10 && std::fmod(*speed, 1e9) != 0 ? tenths(*speed / 1e9) : whole(*speed / 1e9);
        if (speed) out += " GT/s";
        if (width) out += (out.empty() ? "x" : " x") + whole(*width);
        return out;
      };
      Item item{{"PCIe ", Style::dim}, {text(value_of(link.speed), value_of(link.width))}};
      const bool narrow = link.width && link.max_width && *link.width < *link.max_width;
      const bool slow = link.speed && link.max_speed && *link.speed < *link.max_speed;
      // Links slow down to save power; they do not lose lanes.
      if (narrow || slow)
        item.push_back({" of " + text(slow ? value_of(link.max_speed) : std::nullopt,
                                      narrow ? value_of(link.max_width) : std::nullopt),
                        narrow ? Style::warning : Style::dim});
      group.push_back(std::move(item));
    }
    return group;
  }

  static Group more_items(const GpuModel& gpu) {
    Group group;
    for (const SummarySection& section : undrawn(sections_of(gpu)))
      for (const SummaryRow& row : section.rows) {
        const std::string topic = section.title == "gpu" ? "" : std::string(section.title) + ' ';
        group.push_back({{topic + row.name + ' ', Style::dim}, {std::string(trimmed(row.value))}});
      }
    return group;
  }

  Group missing_items(const GpuModel& gpu) const {
    Group group;
    const auto add = [&](Reason reason, const std::string& before, Style style) {
      std::string names;
      for (const FeatureState& feature : *gpu.features) {
        if (feature.available || feature.absent.reason != reason) continue;
        const bool fixable = contains(gpu.missing, feature.name);
        if (reason == Reason::permission && !fixable) continue;  // optional
        names += (names.empty() ? "" : ", ") + feature.name;
      }
      if (names.empty()) return;
      Item item{{before + names, style}};
      group.push_back(std::move(item));
    };
    add(Reason::permission, "no permission (see doctor): ", Style::warning);
    if (view_.detail == Detail::full || view_.focus) {
      add(Reason::kernel, "the kernel lacks: ", Style::dim);
      add(Reason::hardware, "the hardware lacks: ", Style::dim);
    }
    const auto& engines = rows_of(gpu.engines);
    if (std::ranges::any_of(
            engines, [](const Engine& engine) { return engine.source == EngineSource::fdinfo && is_measured(engine); }))
      group.push_back({{"engine time of visible processes only", Style::dim}});
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

  void line_feed(int& x) {
    ++y_;
    x = 0;
  }

  void put_item(const Item& item, int& x) {
    if (x > 0 && x + width_of(item) > width()) line_feed(x);
    if (x == 0) x = kIndent;
    // An item that is longer than a line continues on the next, between words: pieces may lie within one.
    Item word;
    for (const Piece& piece : item) {
      std::size_t begin = 0;
      for (std::size_t end = piece.text.find(' '); end != std::string::npos; end = piece.text.find(' ', begin)) {
        word.push_back({piece.text.substr(begin, end - begin), piece.style});
        put_word(word, x);
        ++x;
        begin = end + 1;
      }
      word.push_back({piece.text.substr(begin), piece.style});
    }
    put_word(word, x);
    x += kGap;
  }

  void put_word(Item& word, int& x) {
    if (x > kIndent && x + width_of(word) > width()) {
      ++y_;
      x = 2 * kIndent;
    }
    for (const Piece& piece : word) x = canvas().put_name(x, y_, piece.text, piece.style);
    word.clear();
  }

  // --- one line for each GPU ---

  enum LineColumn : std::size_t {
    kHost,
    kCard,
    kBar,
    kRender,
    kMegahertz = kRender + 5,
    kWatts,
    kHeat,
    kMemory,
    kLineColumns
  };
  static constexpr std::array<ColumnSpace, kLineColumns> kSpaces{
      {{18, 6}, {7, 9}, {9, 2}, {6, 3}, {6, 11}, {6, 1}, {6, 12}, {6, 5}, {6, 10}, {6, 7}, {4, 8}, {6, 4}}};
  static constexpr int kNumberWidth = 4, kLeastStatus = 12;

  // Writes the columns of one line in their order, those that are shown.
  class Line {
   public:
    explicit Line(Painter& painter) : painter_(painter) {}
    void left(LineColumn column, const std::string& text, Style style) {
      const int end = advance(column);
      if (end > 0) (void)canvas().put_name(end - kSpaces[column].width, painter_.y_, text, style, end - 1);
    }
    void right(std::size_t column, const std::string& text, Style style = Style::plain) {
      const int end = advance(column);
      if (end > 0) canvas().put_right(end, painter_.y_, text, text == "-" ? Style::dim : style);
    }
    // Its sign stands in the gap before the next column.
    void share(std::size_t column, const std::string& text, std::optional<double> share, Style style) {
      right(column, text, level_style(share, style));
      if (painter_.line_columns_[column])
        (void)canvas().put(x_, painter_.y_, level_sign(share), level_style(share, style));
    }
    void bar(std::optional<double> ratio, Style style) {
      if (const int end = advance(kBar); end > 0) painter_.bar(end - kSpaces[kBar].width, end - 1, ratio, style);
    }
    int end() const { return x_; }

   private:
    Canvas& canvas() { return painter_.canvas(); }
    int advance(std::size_t column) {
      if (!painter_.line_columns_[column]) return 0;
      x_ += kSpaces[column].width;
      return x_;
    }
    Painter& painter_;
    int x_ = kNumberWidth;
  };

  void line_title(bool several_hosts) {
    std::array<ColumnSpace, kLineColumns> spaces = kSpaces;
    if (!several_hosts) spaces[kHost].width = 0;
    line_columns_ = fitting_columns(spaces, width() - kNumberWidth - kLeastStatus);
    line_columns_[kHost] = line_columns_[kHost] && several_hosts;
    (void)canvas().put(0, y_, "GPU", Style::dim);
    Line line(*this);
    line.left(kHost, "HOST", Style::dim);
    line.left(kCard, detail_ == Detail::hosts ? "GPUS" : "CARD", Style::dim);
    line.left(kBar, "FULLEST", Style::dim);
    std::size_t column = kRender;
    for (const char* name : {"RENDR", "COPY", "VIDEO", "ENHNC", "COMP", "MHZ", "W"})
      line.right(column++, name, Style::dim);
    line.right(kHeat, context_.unicode ? "°C" : "C", Style::dim);
    line.right(kMemory, "MEM", Style::dim);
    (void)canvas().put_words(line.end() + 1, y_, "NAME", Style::dim);
    ++y_;
  }

  void gpu_line(const HostFrame& host, GpuPlace place) {
    const GpuModel& gpu = host.gpus[place.gpu];
    (void)canvas().put(0, y_, std::to_string(gpu_number(frame_, place)), Style::strong, kNumberWidth - 1);
    Line line(*this);
    line.left(kHost, host.name, Style::plain);
    line.left(kCard, gpu.gpu.card.empty() ? "-" : gpu.gpu.card, Style::plain);
    Sums values;
    values.add(gpu, host.unix_time);
    put_values(line, values);
    std::string status = trouble_of(gpu, host.unix_time);
    const bool trouble = !status.empty();
    if (gpu.suspended.value_or(false)) status += status.empty() ? "asleep" : " asleep";
    if (values.throttled) status += status.empty() ? "throttled" : " throttled";
    const int begin = line.end() + 1;
    const int end = canvas().put_name(begin, y_, status, trouble ? Style::alarm : Style::warning);
    (void)canvas().put_name(end > begin ? end + 1 : end, y_,
                            gpu.gpu.card.empty() ? gpu.gpu.address + " " + gpu.gpu.name : gpu.gpu.name, Style::dim);
    ++y_;
  }

  void put_values(Line& line, const Sums& values) {
    const ClassRatios busy = values.means();
    const auto fullest = static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin());
    line.bar(busy[fullest], class_style(fullest));
    for (std::size_t i = 0; i < busy.size(); ++i)
      line.share(kRender + i, percent_cell(busy[i]), busy[i], class_style(i));
    line.right(kMegahertz, values.hertz ? whole(*values.hertz / 1e6) : "-",
               values.throttled ? Style::warning : Style::plain);
    line.right(kWatts, values.watts ? tenths(*values.watts) : "-");
    line.right(kHeat, values.heat ? whole(*values.heat) : "-");
    line.share(kMemory, percent(share_of(values.memory)), share_of(values.memory), Style::plain);
  }

  // Means of the classes and of the memory in use, the sum of the power, the highest clock and temperature.
  void sum_line(const std::string& host, const Sums& values) {
    if (host.empty()) (void)canvas().put(0, y_, "all", Style::strong);
    Line line(*this);
    line.left(kHost, host, Style::strong);
    line.left(kCard, std::to_string(values.gpus), Style::strong);
    put_values(line, values);
    (void)canvas().put_name(line.end() + 1, y_, values.states_text(), Style::warning);
    ++y_;
  }

  const Frame& frame_;
  const History& history_;
  const ViewState& view_;
  const ScreenContext& context_;
  Detail detail_;
  int min_cell_;
  GpuPanel panel_;
  std::vector<bool> line_columns_;  // by LineColumn
  int y_ = 0;
};

}  // namespace

GpuPanel draw_gpus(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                   int width, Detail detail, int min_cell) {
  return Painter(frame, history, view, context, width, detail, min_cell).paint();
}

std::size_t gpu_number(const Frame& frame, GpuPlace place) {
  if (frame.hosts.size() == 1 && place.gpu < frame.hosts[0].gpus.size())
    return number_of(frame.hosts[0].gpus[place.gpu].gpu, place.gpu);
  std::size_t number = place.gpu;
  for (std::size_t h = 0; h < std::min(place.host, frame.hosts.size()); ++h) number += frame.hosts[h].gpus.size();
  return number;
}

std::string class_name(EngineClass engine_class) {
  return engine_class == EngineClass::video_enhance ? "enhance" : std::string(to_string(engine_class));
}

Style class_style(std::size_t index) { return static_cast<Style>(static_cast<std::size_t>(Style::render) + index); }

}  // namespace igpu::exporter::top
