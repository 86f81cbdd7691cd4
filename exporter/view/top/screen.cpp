// SPDX-License-Identifier: Apache-2.0
#include "view/top/screen.h"

#include <algorithm>
#include <array>

#include "text/text.h"

namespace igpu::exporter::top {
namespace {

constexpr int kMinTableRows = 4;

std::string counted(std::size_t number, const char* one, const char* several) {
  return std::to_string(number) + " " + (number == 1 ? one : several);
}

// The host whose newest reading is the oldest; "" if none is late. A host that failed has its own line.
std::string late_text(const Frame& frame, const ViewState& view, const ScreenContext& context) {
  const HostFrame* oldest = nullptr;
  for (const HostFrame& host : frame.hosts) {
    if (host.state != HostState::ok || context.now - host.time <= context.late_after) continue;
    if (oldest == nullptr || host.time < oldest->time) oldest = &host;
  }
  if (oldest == nullptr || view.paused) return "";
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(context.now - oldest->time).count();
  return (oldest->name.empty() ? "" : oldest->name + ": ") + "no reading for " + std::to_string(age) + " s";
}

void draw_title(Canvas& canvas, const Frame& frame, const ViewState& view, const ScreenContext& context) {
  std::size_t gpus = 0, npus = 0, processes = 0, failed = 0;
  for (const HostFrame& host : frame.hosts) {
    gpus += host.gpus.size();
    npus += host.npus.size();
    processes += count_clients(host, false);
    failed += host.state == HostState::failed ? 1 : 0;
  }
  canvas.fill(0, Style::bar_title);
  const std::string late = late_text(frame, view, context);
  std::string left = context.source + (late.empty() ? "" : "  " + late) + "  " +
                     (gpus == 0 && npus > 0 ? counted(npus, "NPU", "NPUs") : counted(gpus, "GPU", "GPUs")) + ", " +
                     counted(processes, "process", "processes");
  if (failed > 0 && frame.hosts.size() > 1) left += ", " + counted(failed, "host failed", "hosts failed");
  if (view.focus) left += "  only GPU " + std::to_string(gpu_number(frame, *view.focus));
  if (!view.filter.empty() && !view.editing_filter) left += "  filter: " + view.filter;
  std::string right = view.paused ? "PAUSED  " : "";
  const std::string interval = context.interval.empty() ? "" : "every " + context.interval + "  ";
  if (cell_width(right + interval + context.clock) <= canvas.width()) right += interval;
  right += context.clock;
  const int end = canvas.width() - cell_width(right) - 1;
  (void)canvas.put_words(0, 0, left, Style::bar_title, std::max(end, 0));
  canvas.put_right(canvas.width(), 0, right, Style::bar_title);
}

struct KeyHint {
  std::string_view key, text;
};

void draw_footer(Canvas& canvas, const ViewState& view, const ScreenContext& context, int y) {
  canvas.fill(y, Style::plain);
  if (view.editing_filter) {
    (void)canvas.put(0, y, "Filter: " + view.filter + "_   Enter keeps it, Esc clears it", Style::strong);
    return;
  }
  const std::string sorted = "sort: " + std::string(sort_name(view.sort));
  const std::array<KeyHint, 10> hints{{{"?", "help"},
                                       {"q", "quit"},
                                       {"/", "filter"},
                                       {"t", view.tree ? "list" : "tree"},
                                       {"<>", sorted},
                                       {"r", "reverse"},
                                       {"Tab", "GPU"},
                                       {"d", "detail"},
                                       {"w", view.workloads ? "processes" : "workloads"},
                                       {"z", "charts"}}};
  int x = 0;
  if (const std::size_t unread = context.message_count - view.messages_seen; unread > 0)
    x = canvas.put(x, y, "l " + counted(unread, "message", "messages"), Style::warning) + 2;
  for (const KeyHint& hint : hints) {
    const int width = static_cast<int>(hint.key.size() + hint.text.size()) + 1;
    if (x + width > canvas.width()) break;
    x = canvas.put(x, y, hint.key, Style::strong);
    x = canvas.put(x + 1, y, hint.text, Style::dim) + 2;
  }
}

constexpr std::array<KeyHint, 21> kHelp{{
    {"Up Down PgUp PgDn", "select a row; Home, End: the first, the last"},
    {"Enter", "the selected row, whole: its command line, if the process is yours"},
    {"Left Right", "scroll the GPUs, if they do not fit"},
    {"Tab, Shift-Tab", "only the next GPU and its processes; Esc: all GPUs"},
    {"d", "detail: automatic, full, brief, a line a GPU, a line a host"},
    {"/, \\, F3, F4", "filter by command, user, unit, container, host or PID"},
    {"t, F5", "tree: processes below their unit or container, with sums"},
    {"w", "workloads instead of processes (collector workloads)"},
    {"<, >, F6", "sort by the column to the left, to the right"},
    {"r, I", "reverse the order"},
    {"P M T N", "sort by busiest engine, memory, CPU, PID"},
    {"+ -", "refresh less often, more often"},
    {"z", "charts of 1, 5, 15 minutes or none, where rows are free"},
    {"p, Space", "pause"},
    {"l", "messages of the program, such as why a value is missing"},
    {"Ctrl-L", "draw everything again"},
    {"q, F10", "quit; Ctrl-Z suspends"},
    {"mouse", "click a row, a column to sort by or a GPU; wheel: scroll"},
    {"+ !", "after a share: from 70 %, from 90 %"},
    {"wants", "frequency that the driver asked for"},
    {"ENHNC, MEM, CPU%", "video enhancement, resident GPU memory, of one processor"},
}};

void draw_help(Canvas& canvas, int& y) {
  for (const KeyHint& line : kHelp) {
    (void)canvas.put(2, y, line.key, Style::strong, 20);
    (void)canvas.put(21, y++, line.text, Style::plain);
  }
}

// The newest messages that fit.
void draw_messages(Canvas& canvas, const ScreenContext& context, int& y) {
  if (context.messages.empty()) (void)canvas.put(2, y++, "none", Style::dim);
  const int room = canvas.height() - 2 - y, width = canvas.width() - 2;
  std::size_t first = context.messages.size();
  for (int lines = 0; first > 0; --first) {
    lines += Canvas({width, 0}).put_wrapped(0, 0, context.messages[first - 1]);
    if (lines > room) break;
  }
  for (; first < context.messages.size(); ++first) y = canvas.put_wrapped(2, y, context.messages[first], Style::plain);
}

void draw_process(Canvas& canvas, const Frame& frame, const ViewState& view, int& y) {
  const std::vector<TableRow> rows = table_rows(frame, view, true);
  const auto row = std::ranges::find(rows, view.selected, &TableRow::key);
  if (row == rows.end()) return (void)canvas.put(2, y++, "it has ended", Style::dim);
  const std::array<std::pair<std::string_view, const std::string*>, 5> lines{
      {{"command", row->whole_command.empty() ? &row->command : &row->whole_command},
       {"PID", &row->pid},
       {"user", &row->user},
       {"runs in", &row->place},
       {"host", &row->host}}};
  for (const auto& [name, text] : lines) {
    if (text->empty()) continue;
    (void)canvas.put(2, y, name, Style::dim);
    y = canvas.put_wrapped(11, y, *text);
  }
}

void draw_over(Canvas& canvas, const Frame& frame, const ViewState& view, const ScreenContext& context) {
  for (int y = 1; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) canvas.put(x, y, U' ', Style::plain);
  }
  int y = 2;
  (void)canvas.put(0, 1,
                   view.over == Over::help       ? "Keys"
                   : view.over == Over::messages ? "Messages"
                                                 : "Process",
                   Style::strong);
  if (view.over == Over::help) draw_help(canvas, y);
  if (view.over == Over::messages) draw_messages(canvas, context, y);
  if (view.over == Over::process) draw_process(canvas, frame, view, y);
  (void)canvas.put(0, std::min(y + 1, canvas.height() - 1), "Press any key to return.", Style::dim);
}

// The most detailed panel that leaves room for the table.
GpuPanel chosen_panel(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
                      Size size, int room) {
  switch (view.detail) {
    case Detail::automatic: break;
    default: return draw_gpus(frame, history, view, context, size.width, view.detail);
  }
  GpuPanel panel = draw_gpus(frame, history, view, context, size.width, Detail::full, kRoomyEngineCell);
  if (room >= 0 && panel.canvas.height() > room)
    panel = draw_gpus(frame, history, view, context, size.width, Detail::full);
  for (const Detail detail : {Detail::brief, Detail::line, Detail::hosts}) {
    if (room < 0 || panel.canvas.height() <= room || (detail == Detail::hosts && frame.hosts.size() < 2)) break;
    panel = draw_gpus(frame, history, view, context, size.width, detail);
  }
  return panel;
}

}  // namespace

Screen draw(const Frame& frame, const History& history, const ViewState& view, const ScreenContext& context,
            Size size) {
  Screen screen{.canvas = Canvas(size)};
  Canvas& canvas = screen.canvas;
  const bool bounded = size.height > 0;
  draw_title(canvas, frame, view, context);
  const int footer = bounded && context.keys && size.height > 2 ? size.height - 1 : size.height;
  // Title of the table and a share of the screen, but no more than it has rows.
  std::size_t rows = 0;
  for (const HostFrame& host : frame.hosts) rows += count_clients(host, view.workloads);
  const int table =
      std::max(kMinTableRows, std::min(static_cast<int>(std::min<std::size_t>(rows, 1000)), size.height / 4));
  const int room = bounded ? std::max(footer - 2 - table, 1) : -1;
  const GpuPanel panel = chosen_panel(frame, history, view, context, size, room);
  const int lines = panel.canvas.height();
  const int shown = bounded ? std::min(lines, room) : lines;
  screen.last_first_gpu_line = lines - shown;
  screen.first_gpu_line = std::clamp(view.first_gpu_line, 0, screen.last_first_gpu_line);
  for (int i = 0; i < shown; ++i) {
    const auto& row = panel.canvas.row(screen.first_gpu_line + i);
    for (int x = 0; x < canvas.width(); ++x) {
      const Cell& cell = row[static_cast<std::size_t>(x)];
      if (cell.character != 0) canvas.put(x, 1 + i, cell.character, cell.style);
    }
  }
  for (Region region : panel.regions) {
    region.y = std::max(region.y - screen.first_gpu_line, 0) + 1;
    region.bottom = std::min(region.bottom - screen.first_gpu_line, shown) + 1;
    if (region.y < region.bottom) screen.regions.push_back(region);
  }
  if (lines > shown && shown > 0) {
    const auto hidden = static_cast<std::size_t>(lines - shown);
    const std::string more = " " + counted(hidden, "more line", "more lines") + ": Left, Right ";
    canvas.erase_word(canvas.width() - cell_width(more), shown);
    canvas.put_right(canvas.width(), shown, more, Style::dim);
  }
  // Rows that the table does not need show the last minutes, below it, so that the table stays where it is.
  const int entries = static_cast<int>(std::min<std::size_t>(rows, 1000)) * (view.tree ? 2 : 1);  // with their groups
  int charts = bounded && lines == shown ? footer - 2 - shown - std::max(entries, kMinTableRows) : 0;
  charts = chart_rows(frame, history, view, canvas.width(), charts);
  draw_table(screen, frame, view, context, {1 + shown, bounded ? footer - charts : -1});
  if (charts > 0) draw_charts(canvas, frame, history, view, context, footer - charts, charts);
  if (footer < size.height) draw_footer(canvas, view, context, footer);
  if (view.over != Over::nothing) draw_over(canvas, frame, view, context);
  // A terminal of another encoding would show the bytes of UTF-8 as other characters, even as control characters.
  if (!context.unicode) canvas.to_ascii();
  return screen;
}

}  // namespace igpu::exporter::top
