// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "text/text.h"
#include "view/top/screen.h"

namespace igpu::exporter::top {

using namespace snapshot;
namespace {

bool matches(const TableRow& row, std::string_view filter) {
  if (filter.empty()) return true;
  return contains_ignoring_case(row.command, filter) || contains_ignoring_case(row.whole_command, filter) ||
         contains_ignoring_case(row.user, filter) || contains_ignoring_case(row.place, filter) ||
         contains_ignoring_case(row.host, filter) || row.pid == filter;
}

double number(std::string_view text) {
  double value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int order(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }
int order(std::optional<double> a, std::optional<double> b) {  // what is missing is less than 0
  return order(a.value_or(-1), b.value_or(-1));
}

int compare(const TableRow& a, const TableRow& b, SortKey key) {
  if (key == SortKey::busy) return order(a.busy(), b.busy());
  if (key == SortKey::pid) return order(number(a.pid), number(b.pid));
  if (key == SortKey::user) return a.user.compare(b.user);
  if (key == SortKey::gpu) return order(static_cast<double>(a.number), static_cast<double>(b.number));
  if (key == SortKey::memory) return order(a.memory, b.memory);
  if (key == SortKey::cpu) return order(a.cpu, b.cpu);
  if (key == SortKey::command) return a.command.compare(b.command);
  const auto index = static_cast<std::size_t>(key) - static_cast<std::size_t>(SortKey::render);
  return order(a.classes[index], b.classes[index]);
}

struct Before {
  SortKey key;
  bool descending;
  bool operator()(const TableRow& a, const TableRow& b) const {
    if (const int first = compare(a, b, key); first != 0) return descending ? first > 0 : first < 0;
    // Equal ones stay in place from frame to frame.
    if (const int memory = order(a.memory, b.memory); memory != 0) return memory > 0;
    if (const int pid = order(number(a.pid), number(b.pid)); pid != 0) return pid < 0;
    return a.key < b.key;
  }
};

std::string key_of(std::size_t host, const std::string& device, const std::string& a, const std::string& b) {
  return std::to_string(host) + '\n' + device + '\n' + a + '\n' + b;
}

TableRow row_of(const WorkloadUse& use, const HostFrame& host) {
  TableRow row{.pid = "-", .command = use.workload, .classes = values_of(use.busy)};
  row.memory = value_of(resident(use.memory));
  row.clients = value_of(use.clients);
  const Workload* const workload = host.workload(use.workload);
  if (workload == nullptr) return row;
  if (workload->processes) row.pid = whole(workload->processes->value);
  row.user = workload->kind;
  row.resident = value_of(workload->resident_memory);
  row.cpu = cpu_of(host, cpu_key(*workload));
  return row;
}

TableRow row_of(const Process& process, const HostFrame& host) {
  const auto whole = host.commands.find(cpu_key(process));
  return {.pid = std::to_string(process.pid),
          .user = process.user,
          .command = process.comm,
          .place = place_of(process),
          .whole_command = whole == host.commands.end() ? "" : whole->second,
          .classes = values_of(process.busy),
          .memory = value_of(resident(process.memory)),
          .resident = value_of(process.resident_memory),
          .cpu = cpu_of(host, cpu_key(process)),
          .clients = value_of(process.clients)};
}

std::vector<TableRow> flat_rows(const Frame& frame, const ViewState& view) {
  std::vector<TableRow> rows;
  for (std::size_t h = 0; h < frame.hosts.size(); ++h) {
    const HostFrame& host = frame.hosts[h];
    for (std::size_t g = 0; g < host.gpus.size(); ++g) {
      if (view.focus && *view.focus != GpuPlace{h, g}) continue;
      const GpuModel& gpu = host.gpus[g];
      const auto add = [&](TableRow row) {
        row.host = host.name;
        if (!matches(row, view.filter)) return;
        row.key = key_of(h, gpu.gpu.address, view.workloads ? row.command : row.pid,
                         view.workloads ? "workload" : row.command);
        row.number = gpu_number(frame, {h, g});
        rows.push_back(std::move(row));
      };
      if (view.workloads)
        for (const WorkloadUse& use : gpu.workloads) add(row_of(use, host));
      else
        for (const Process& process : rows_of(gpu.processes)) add(row_of(process, host));
    }
  }
  return rows;
}

struct Branch {
  TableRow group;
  std::vector<TableRow> members;
  std::map<std::string, bool> counted;  // a process with rows on two GPUs has its CPU time once
};

std::vector<TableRow> as_tree(std::vector<TableRow> rows, const Before& before, bool unicode) {
  std::map<std::pair<std::string, std::string>, Branch> branches;
  for (TableRow& row : rows) {
    Branch& branch = branches[{row.host, row.place}];
    TableRow& group = branch.group;
    if (branch.members.empty()) {
      group = {.key = "group\n" + row.host + '\n' + row.place, .number = row.number, .host = row.host};
      group.is_group = true;
      group.command = row.place.empty() ? "(no unit or container)" : row.place;
    }
    group.has_gpu = group.has_gpu && group.number == row.number;
    for (std::size_t i = 0; i < group.classes.size(); ++i) add_to(group.classes[i], row.classes[i]);
    add_to(group.memory, row.memory);
    add_to(group.clients, row.clients);
    if (branch.counted.try_emplace(row.pid, true).second) {
      add_to(group.cpu, row.cpu);
      add_to(group.resident, row.resident);
    }
    branch.members.push_back(std::move(row));
  }
  std::vector<Branch> sorted;
  sorted.reserve(branches.size());
  for (auto& [place, branch] : branches) sorted.push_back(std::move(branch));
  std::ranges::sort(sorted, [&](const Branch& a, const Branch& b) { return before(a.group, b.group); });
  std::vector<TableRow> out;
  for (Branch& branch : sorted) {
    std::ranges::sort(branch.members, before);
    out.push_back(std::move(branch.group));
    for (std::size_t i = 0; i < branch.members.size(); ++i) {
      const bool last = i + 1 == branch.members.size();
      branch.members[i].branch = unicode ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- ");
      out.push_back(std::move(branch.members[i]));
    }
  }
  return out;
}

struct Column {
  std::string title;
  int width;
  bool right;
  std::optional<SortKey> sort;
  std::string (*text)(const TableRow&);
  int rank = 0;  // as ColumnSpace has it
  Style style = Style::plain;
};

constexpr int kLeastCommand = 8;  // columns of a name that still says something

template <std::size_t I>
std::string class_text(const TableRow& row) {
  return percent_cell(row.classes[I]);
}

std::vector<Column> columns(const Frame& frame, const ViewState& view, int width) {
  std::vector<Column> out;
  const bool workloads = view.workloads;
  out.push_back({workloads ? "PROCS" : "PID", 7, true, SortKey::pid, [](const TableRow& r) { return r.pid; }});
  out.push_back({workloads ? "KIND" : "USER", workloads ? 12 : 8, false, SortKey::user,
                 [](const TableRow& r) { return r.user; }, 9});
  if (frame.hosts.size() > 1 && width >= 100)
    out.push_back({"HOST", 16, false, std::nullopt, [](const TableRow& r) { return r.host; }});
  out.push_back({"GPU", 3, true, SortKey::gpu,
                 [](const TableRow& r) { return r.has_gpu ? std::to_string(r.number) : std::string("*"); }, 5});
  constexpr std::array<std::string (*)(const TableRow&), 5> kTexts{class_text<0>, class_text<1>, class_text<2>,
                                                                   class_text<3>, class_text<4>};
  constexpr std::array<std::string_view, 5> kTitles{"RENDR", "COPY", "VIDEO", "ENHNC", "COMP"};
  constexpr std::array<int, 5> kRanks{2, 8, 1, 7, 4};
  for (std::size_t i = 0; i < kTitles.size(); ++i) {
    const auto sort = static_cast<SortKey>(static_cast<std::size_t>(SortKey::render) + i);
    out.push_back({std::string(kTitles[i]), 5, true, sort, kTexts[i], kRanks[i], class_style(i)});
  }
  out.push_back({"MEM", 5, true, SortKey::memory, [](const TableRow& r) { return short_bytes(r.memory); }, 3});
  if (width >= 100) {
    out.push_back({"RSS", 5, true, std::nullopt, [](const TableRow& r) { return short_bytes(r.resident); }});
    out.push_back({"CLI", 3, true, std::nullopt, [](const TableRow& r) {
                     return !r.clients ? "-" : *r.clients < 999.5 ? whole(*r.clients) : ">1k";
                   }});
  }
  out.push_back({"CPU%", 5, true, SortKey::cpu, [](const TableRow& r) { return percent_cell(r.cpu); }, 6});
  const bool place = width >= 100 && !workloads;
  out.push_back({workloads ? "WORKLOAD" : "COMMAND", place ? (view.tree ? 40 : 16) : 999, false, SortKey::command,
                 [](const TableRow& r) { return r.branch + (r.whole_command.empty() ? r.command : r.whole_command); }});
  if (place && !view.tree)
    out.push_back({"UNIT, CONTAINER OR CGROUP", 999, false, std::nullopt, [](const TableRow& r) { return r.place; }});
  std::vector<ColumnSpace> spaces;
  spaces.reserve(out.size());
  for (const Column& column : out) spaces.push_back({column.width + 1, column.rank});
  spaces.back().width = kLeastCommand;
  const std::vector<bool> shown = fitting_columns(spaces, width);
  for (std::size_t i = out.size(); i-- > 0;)
    if (!shown[i]) out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
  return out;
}

void draw_titles(Screen& screen, const std::vector<Column>& all, const ViewState& view, int y, bool unicode) {
  Canvas& canvas = screen.canvas;
  canvas.fill(y, Style::bar_title);
  int x = 0;
  for (const Column& column : all) {
    const int end = std::min(x + column.width, canvas.width());
    if (x >= canvas.width()) break;
    const bool sorted = column.sort == view.sort;
    const bool descending = ascending_by_default(view.sort) == view.reversed;
    const std::string mark = !sorted ? "" : unicode ? (descending ? "▼" : "▲") : (descending ? "v" : "^");
    // In a full column the mark takes the place of the title's last letter.
    std::string title = column.title;
    if (sorted && static_cast<int>(title.size()) + 1 > column.width) title.pop_back();
    if (column.right) {
      canvas.put_right(end, y, title + mark, Style::bar_title);
    } else {
      (void)canvas.put(x, y, title + mark, Style::bar_title, end);
    }
    if (column.sort)
      screen.regions.push_back(
          {.kind = Region::Kind::column, .x = x, .end = end, .y = y, .bottom = y + 1, .sort = *column.sort});
    x = end + 1;
  }
}

void draw_row(Canvas& canvas, const std::vector<Column>& all, const TableRow& row, int y) {
  int x = 0;
  for (const Column& column : all) {
    if (x >= canvas.width()) break;
    const int end = std::min(x + column.width, canvas.width());
    const std::string text = column.text(row);
    const bool nothing = text == "-" || text == "0.0";
    const Style style = row.is_group ? Style::strong : nothing ? Style::dim : column.style;
    if (column.right) {
      canvas.put_right(end, y, text, style);
    } else {
      (void)canvas.put_name(x, y, text, style, end);
    }
    x = end + 1;
  }
}

// Why processes are missing: of the first host where some are.
std::string missing_text(const Frame& frame) {
  for (const HostFrame& host : frame.hosts) {
    const auto feature = std::ranges::find_if(
        host.features, [](const FeatureState& state) { return state.name == "processes" && !state.available; });
    if (host.state != HostState::ok || feature == host.features.end()) continue;
    const std::string prefix = frame.hosts.size() > 1 ? host.name + ": " : "";
    switch (feature->absent.reason) {
      case Reason::permission: return prefix + "no permission to read the processes of other users (see doctor)";
      case Reason::disabled: return prefix + "processes are not read: collector fdinfo is off";
      case Reason::kernel: return prefix + "the kernel does not report processes";
      default: break;
    }
  }
  return "";
}

std::string nothing_text(const Frame& frame, const ViewState& view) {
  const bool has_workloads = std::ranges::any_of(
      frame.hosts, [](const HostFrame& host) { return !host.workloads.empty() || count_clients(host, true) > 0; });
  const bool any = std::ranges::any_of(frame.hosts, [](const HostFrame& host) { return host.state == HostState::ok; });
  if (!any) return "";
  if (view.workloads && !has_workloads) return "no workloads: collector workloads is off (--collector.workloads)";
  if (!view.filter.empty()) return "nothing matches \"" + view.filter + "\"";
  if (view.workloads) return "no workload uses a GPU";
  const std::string missing = missing_text(frame);
  return missing.empty() ? "no visible process uses a GPU" : missing;
}

}  // namespace

double TableRow::busy() const {
  double most = 0;
  for (const std::optional<double>& ratio : classes) most = std::max(most, ratio.value_or(0));
  return most;
}

std::string_view sort_name(SortKey key) {
  constexpr std::array<std::string_view, kSortKeys> kNames{"busiest engine", "PID",    "user",  "GPU",
                                                           "render",         "copy",   "video", "video enhance",
                                                           "compute",        "memory", "CPU",   "command"};
  return kNames[static_cast<std::size_t>(key)];
}

bool ascending_by_default(SortKey key) {
  return key == SortKey::pid || key == SortKey::user || key == SortKey::gpu || key == SortKey::command;
}

std::vector<TableRow> table_rows(const Frame& frame, const ViewState& view, bool unicode) {
  std::vector<TableRow> rows = flat_rows(frame, view);
  const Before before{view.sort, ascending_by_default(view.sort) == view.reversed};
  if (view.tree && !view.workloads) return as_tree(std::move(rows), before, unicode);
  std::ranges::sort(rows, before);
  return rows;
}

void draw_table(Screen& screen, const Frame& frame, const ViewState& view, const ScreenContext& context,
                TableArea area) {
  Canvas& canvas = screen.canvas;
  const std::vector<TableRow> rows = table_rows(frame, view, context.unicode);
  for (const TableRow& row : rows) screen.rows.push_back(row.key);
  const bool bounded = area.bottom >= 0;
  if (bounded && area.bottom <= area.top) return;
  const std::vector<Column> all = columns(frame, view, canvas.width());
  draw_titles(screen, all, view, area.top, context.unicode);
  const int first_y = area.top + 1;
  const int count = static_cast<int>(rows.size());
  const int visible = bounded ? std::max(area.bottom - first_y, 0) : count;
  screen.page_rows = visible;
  int first = std::clamp(view.first_row, 0, std::max(count - visible, 0));
  const auto selected = std::ranges::find(screen.rows, view.selected);
  const int selected_row = selected == screen.rows.end() ? -1 : static_cast<int>(selected - screen.rows.begin());
  if (selected_row >= 0 && visible > 0)
    first = std::clamp(first, std::max(selected_row - visible + 1, 0), selected_row);
  screen.first_row = first;
  if (rows.empty() && (visible != 0 || !bounded))
    (void)canvas.put_words(2, first_y, nothing_text(frame, view), Style::dim);
  if (!rows.empty() && !view.workloads && (visible > count || !bounded))
    (void)canvas.put_words(2, first_y + count, missing_text(frame), Style::dim);
  for (int i = first; i < std::min(first + visible, count); ++i) {
    const int y = first_y + i - first;
    const TableRow& row = rows[static_cast<std::size_t>(i)];
    draw_row(canvas, all, row, y);
    if (i == selected_row) canvas.fill(y, Style::selected);
    screen.regions.push_back(
        {.kind = Region::Kind::row, .x = 0, .end = canvas.width(), .y = y, .bottom = y + 1, .row = row.key});
  }
}

}  // namespace igpu::exporter::top
