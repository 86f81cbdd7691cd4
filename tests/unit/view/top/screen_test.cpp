// SPDX-License-Identifier: Apache-2.0
#include "view/top/screen.h"

#include <doctest/doctest.h>

#include <string>

#include "text/text.h"
#include "view/top/canvas.h"
#include "view/top/host_frame.h"

using namespace igpu::exporter;
using namespace igpu::exporter::top;
using namespace std::chrono_literals;

namespace {

Frame frame(const std::string& page) {
  Frame frame;
  frame.hosts = {frame_of(std::string_view(page + "intel_gpu_exporter_devices 1\n"))};
  return frame;
}

std::string text(const Frame& shown, const ViewState& view = {}, Size size = {80, 24}, ScreenContext context = {}) {
  return draw(shown, {}, view, context, size).canvas.text();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string process(const std::string& pid, const std::string& comm, const std::string& video) {
  return "intel_gpu_process_engine_busy_ratio{device=\"d\",pid=\"" + pid + "\",comm=\"" + comm +
         "\",class=\"video\"} " + video + "\n";
}

}  // namespace

TEST_SUITE_BEGIN("screen");

TEST_CASE("what limits the clock is shown, and a GPU that hung") {
  const std::string shown =
      text(frame("intel_gpu_frequency_hertz{device=\"d\",gt=\"0\",kind=\"actual\"} 1.2e9\n"
                 "intel_gpu_frequency_limit_hertz{device=\"d\",gt=\"0\",limit=\"rp0\"} 2.4e9\n"
                 "intel_gpu_frequency_limit_hertz{device=\"d\",gt=\"0\",limit=\"max\"} 2.0e9\n"
                 "intel_gpu_throttled{device=\"d\",gt=\"0\",reason=\"pl1\"} 1\n"
                 "intel_gpu_error_state{device=\"d\"} 1\n"));
  CHECK(has(shown, "frequency 1200/2400 MHz max 2000"));
  CHECK(has(shown, "throttled: pl1"));
  CHECK(has(shown, "GPU hang recorded"));
}

TEST_CASE("power is shown with its limit, also on a card without power1_max, as a B580 on xe") {
  const auto power = [](const std::string& limits) {
    return text(frame("intel_gpu_power_watts{device=\"d\",domain=\"card\"} 150\n" + limits));
  };
  const std::string crit = "intel_gpu_power_limit_watts{device=\"d\",domain=\"card\",limit=\"crit\"} 400\n";
  const std::string cap = "intel_gpu_power_limit_watts{device=\"d\",domain=\"card\",limit=\"cap\"} 200\n";
  const std::string max = "intel_gpu_power_limit_watts{device=\"d\",domain=\"card\",limit=\"max\"} 190\n";
  CHECK(has(power(crit + cap), "power 150.0/200 W"));
  CHECK(has(power(crit + cap + max), "power 150.0/190 W"));
  CHECK(has(power(""), "power 150.0 W"));
}

TEST_CASE("a share has a + from 70 %, a ! from 90 %, which a terminal without colours shows, too") {
  const auto with_load = [](const std::string& busy, Detail detail) {
    const std::string labels = "{device=\"d\",gt=\"0\",engine=\"vcs0\",class=\"video\"} ";
    return text(frame("intel_gpu_engine_busy_ratio" + labels + busy +
                      "\nintel_gpu_power_watts{device=\"d\",domain=\"card\"} 150\n" +
                      "intel_gpu_power_limit_watts{device=\"d\",domain=\"card\",limit=\"max\"} 200\n"),
                {.detail = detail});
  };
  for (const Detail detail : {Detail::full, Detail::brief, Detail::line}) {
    CAPTURE(static_cast<int>(detail));
    CHECK(has(with_load("0.691", detail), "69.1"));
    CHECK_FALSE(has(with_load("0.691", detail), "69.1%+"));
    const std::string percent = detail == Detail::line ? "" : "%";
    CHECK(has(with_load("0.7", detail), "70.0" + percent + "+"));
    CHECK(has(with_load("0.9", detail), "90.0" + percent + "!"));
  }
  CHECK(has(with_load("0", Detail::full), "power 150.0/200 W+"));
  CHECK(has(with_load("0", Detail::brief), "150.0/200 W+"));
}

TEST_CASE("of several hosts each can have one line, with the mean of its GPUs, and the last line has that of all") {
  const auto busy = [](const std::string& device, const std::string& ratio) {
    return "intel_gpu_engine_class_busy_ratio{device=\"" + device + "\",class=\"video\"} " + ratio +
           "\nintel_gpu_engine_busy_ratio{device=\"" + device + "\",gt=\"0\",engine=\"vcs0\",class=\"video\"} " +
           ratio + "\nintel_gpu_power_watts{device=\"" + device + "\",domain=\"card\"} 50\n";
  };
  Frame two = frame(busy("d", "0.2") + busy("e", "0.6") + "intel_gpu_wedged{device=\"e\"} 1\n");
  two.hosts.front().name = "a";
  two.hosts.push_back(frame(busy("d", "0.7")).hosts.front());
  two.hosts.back().name = "b";
  const std::string hosts = text(two, {.detail = Detail::hosts}, {80, 24}, {.unicode = false});
  const auto line = [](const std::string& shown, const std::string& host) {
    const std::size_t begin = shown.find("\n    " + host + " ") + 1;
    return shown.substr(begin, shown.find('\n', begin) - begin);
  };
  CHECK(has(hosts, "HOST "));
  CHECK(has(line(hosts, "a"), "[||    ]"));
  CHECK(has(line(hosts, "a"), " 40.0 "));
  CHECK(has(line(hosts, "a"), " 100.0 "));
  CHECK(has(line(hosts, "a"), "1 HUNG"));
  CHECK(has(line(hosts, "b"), " 70.0+"));
  CHECK(has(line(hosts, "all"), " 50.0 "));
  CHECK(has(line(hosts, "all"), " 150.0 "));
  CHECK(has(line(hosts, "all"), "1 HUNG"));
  CHECK(has(line(text(two, {.detail = Detail::line}), "all"), " 150.0 "));
  // A rack that does not fit otherwise.
  for (int i = 0; i < 8; ++i) two.hosts.push_back(two.hosts.front());
  const std::string automatic = text(two, {}, {80, 24}, {.unicode = false});
  CAPTURE(automatic);
  CHECK(has(automatic, "1 HUNG"));
  CHECK_FALSE(has(text(frame(busy("d", "0.2")), {.detail = Detail::line}), "all"));
}

TEST_CASE("a status that does not fit says that it is cut") {
  Frame hung = frame(
      "intel_gpu_info{device=\"d\",card=\"card0\"} 1\n"
      "intel_gpu_last_fault_timestamp_seconds{device=\"d\",kind=\"job_timeout\"} 1000\n");
  hung.hosts.front().unix_time = igpu::Seconds{1048};
  for (int width = 60; width < 100; ++width) {
    CAPTURE(width);
    const std::string shown = text(hung, {.detail = Detail::line}, {width, 24});
    if (!has(shown, "job time")) continue;
    CHECK((has(shown, "job timeout, 48 s ago") || has(shown, "\u2026")));
  }
}

TEST_CASE("a hang is shown for a minute, by the clock of the machine; a GPU out of service as long as it is") {
  Frame hung = frame(
      "intel_gpu_info{device=\"d\",card=\"card0\"} 1\n"
      "intel_gpu_last_fault_timestamp_seconds{device=\"d\",kind=\"core_dump\"} 990\n"
      "intel_gpu_last_fault_timestamp_seconds{device=\"d\",kind=\"job_timeout\"} 1000\n");
  hung.hosts.front().unix_time = igpu::Seconds{1012};
  for (const Detail detail : {Detail::full, Detail::brief})
    CHECK(has(text(hung, {.detail = detail}), "job timeout, 12 s ago"));
  hung.hosts.front().unix_time = igpu::Seconds{1060};
  CHECK_FALSE(has(text(hung), "ago"));
  hung.hosts.front().unix_time = igpu::Seconds{900};  // another machine's clock
  CHECK_FALSE(has(text(hung), "ago"));
  CHECK(has(text(frame("intel_gpu_wedged{device=\"d\"} 1\n")), "wedged"));
}

TEST_CASE("a host that failed has its line, and the others are shown") {
  Frame two = frame(process("1", "ffmpeg", "0.5"));
  two.hosts.front().name = "a:10068";
  two.hosts.push_back({.name = "b:10068", .state = HostState::failed, .problem = "no answer within 5 s"});
  two.hosts.push_back({.name = "c:10068"});
  for (const Detail detail : {Detail::automatic, Detail::full, Detail::brief, Detail::line}) {
    const std::string shown = text(two, {.detail = detail});
    CHECK(has(shown, "b:10068: no answer within 5 s"));
    CHECK(has(shown, "c:10068: waiting for the first reading"));
    CHECK(has(shown, "ffmpeg"));
    CHECK(has(shown, "1 host failed"));
  }
}

TEST_CASE("an old reading is marked, of this machine and of others, unless the view is paused") {
  Frame shown = frame(process("1", "ffmpeg", "0.5"));
  shown.hosts.front().time = 100s;
  const auto title = [&](std::chrono::nanoseconds now, const ViewState& view = {}) {
    const std::string all = text(shown, view, {80, 24}, {.late_after = 3s, .now = now});
    return all.substr(0, all.find('\n'));
  };
  CHECK_FALSE(has(title(103s), "no reading"));
  CHECK(has(title(104s), "no reading for 4 s"));
  CHECK_FALSE(has(title(104s, {.paused = true}), "no reading"));
  shown.hosts.push_back({.name = "b:10068", .state = HostState::ok, .time = 90s});
  shown.hosts.push_back({.name = "c:10068", .state = HostState::failed, .problem = "cannot connect", .time = 1s});
  CHECK(has(title(103s), "b:10068: no reading for 13 s"));
}

TEST_CASE("an empty table names what keeps processes out of it; a table that lacks some says so below them") {
  const auto feature = [](const std::string& reason) {
    return "intel_gpu_processes{device=\"d\"} 0\nintel_gpu_exporter_feature_available{feature=\"processes\",reason=\"" +
           reason + "\"} " + (reason == "ok" ? "1" : "0") + "\n";
  };
  CHECK(has(text(frame(feature("ok"))), "no visible process uses a GPU"));
  CHECK(has(text(frame(feature("permission"))), "no permission to read the processes of other users (see doctor)"));
  CHECK(has(text(frame(feature("disabled"))), "processes are not read: collector fdinfo is off"));
  CHECK(has(text(frame(feature("kernel"))), "the kernel does not report processes"));
  const std::string own = text(frame(process("1", "ffmpeg", "0.5") + feature("permission")));
  CHECK(has(own, "ffmpeg"));
  CHECK(has(own, "no permission to read the processes of other users (see doctor)"));
  CHECK_FALSE(has(text(frame(process("1", "ffmpeg", "0.5") + feature("ok"))), "no permission"));
}

TEST_CASE("sorting, filter and focus") {
  Frame shown = frame(process("1", "zoo", "0.1") + process("2", "ant", "0.9") + process("3", "Bee", "0.5") +
                      "intel_gpu_processes{device=\"e\"} 0\n");
  const auto rows = [&](const ViewState& view) {
    std::string order;
    for (const std::string& key : draw(shown, {}, view, {}, {80, 24}).rows)
      order += key.substr(key.rfind('\n') + 1) + " ";
    return order;
  };
  CHECK(rows({}) == "ant Bee zoo ");
  CHECK(rows({.reversed = true}) == "zoo Bee ant ");
  CHECK(rows({.sort = SortKey::pid}) == "zoo ant Bee ");
  CHECK(rows({.sort = SortKey::pid, .reversed = true}) == "Bee ant zoo ");
  CHECK(rows({.sort = SortKey::command}) == "Bee ant zoo ");
  CHECK(rows({.filter = "bE"}) == "Bee ");
  CHECK(rows({.filter = "2"}) == "ant ");
  CHECK(rows({.focus = GpuPlace{0, 1}}).empty());
  CHECK(has(text(shown, {.filter = "none"}), "nothing matches \"none\""));
}

TEST_CASE("the selected row is visible, wherever the table is scrolled to") {
  std::string page;
  for (int i = 100; i < 200; ++i) page += process(std::to_string(i), "p", "0.5");
  const Frame many = frame(page);
  ViewState view{.sort = SortKey::pid};
  const Screen first = draw(many, {}, view, {}, {80, 24});
  REQUIRE(first.rows.size() == 100);
  REQUIRE(first.page_rows > 3);
  view.selected = first.rows.back();
  const Screen last = draw(many, {}, view, {}, {80, 24});
  CHECK(last.first_row == 100 - last.page_rows);
  CHECK(has(last.canvas.text(), "199"));
  view.first_row = last.first_row;
  view.selected = first.rows.front();
  CHECK(draw(many, {}, view, {}, {80, 24}).first_row == 0);
}

TEST_CASE("any size and any content gives a screen of that size without control characters") {
  std::string page;
  for (int i = 0; i < 12; ++i) {
    const std::string device = "0000:" + std::to_string(i);
    page += "intel_gpu_info{device=\"" + device + "\",card=\"card\\n\",name=\"\033[31m日本語\",driver=\"xe\"} 1\n";
    for (int e = 0; e < 9; ++e)
      page += "intel_gpu_engine_busy_ratio{device=\"" + device + "\",gt=\"0\",engine=\"vcs" + std::to_string(e) +
              "\",class=\"video\"} 1e300\n";
    page += "intel_gpu_power_watts{device=\"" + device + "\",domain=\"card\"} -1e300\n";
    page += "intel_gpu_memory_used_bytes{device=\"" + device + "\",memory_region=\"m\"} 1e300\n";
    page += "intel_gpu_memory_size_bytes{device=\"" + device + "\",memory_region=\"m\"} -1\n";
    page += "intel_gpu_process_info{device=\"" + device + "\",pid=\"\033c\",comm=\"\xf0\x9f\x94\xa5\",user=\"" +
            std::string(400, 'u') + "\"} 1\n";
  }
  const Frame odd = frame(page);
  for (const Size size : {Size{1, 1}, Size{2, 2}, Size{7, 3}, Size{20, 5}, Size{80, 24}, Size{500, 200}}) {
    for (const Detail detail : {Detail::automatic, Detail::full, Detail::brief, Detail::line}) {
      for (const bool flag : {false, true}) {
        const ViewState view{
            .tree = flag, .over = flag && size.width == 20 ? Over::help : Over::nothing, .detail = detail};
        const Screen screen = draw(odd, {}, view, {.unicode = flag}, size);
        REQUIRE(screen.canvas.width() == size.width);
        REQUIRE(screen.canvas.height() == size.height);
        for (int y = 0; y < size.height; ++y) {
          const std::string row = screen.canvas.row_text(y);
          CHECK(clean_text(row) == row);
          CHECK(cell_width(row) <= size.width);
        }
      }
    }
  }
}

TEST_CASE("messages are counted at the bottom until they are read, and l shows the newest that fit") {
  const Frame shown = frame(process("1", "a", "0.5"));
  ScreenContext context{.messages = {"12:00:00  first", "12:00:01  not permitted  feature=x"}, .message_count = 7};
  CHECK(has(text(shown, {}, {80, 24}, context), "\nl 7 messages  ? help  q quit  / filter"));
  CHECK(has(text(shown, {.messages_seen = 6}, {80, 24}, context), "\nl 1 message  ? help"));
  CHECK(has(text(shown, {.messages_seen = 7}, {80, 24}, context), "\n? help"));
  CHECK_FALSE(has(text(shown, {}, {80, 24}, context), "permitted"));
  const ViewState reading{.over = Over::messages};
  const std::string all = text(shown, reading, {80, 24}, context);
  CHECK(has(all, "Messages\n  12:00:00  first\n  12:00:01  not permitted  feature=x\n"));
  CHECK_FALSE(has(all, "7 messages"));
  const std::string few = text(shown, reading, {80, 5}, context);
  CHECK_FALSE(has(few, "first"));
  CHECK(has(few, "feature=x"));
  context.messages.push_back("12:00:02  " + std::string(100, 'y'));
  CHECK(has(text(shown, reading, {80, 24}, context), std::string(60, 'y')));
}

TEST_CASE("the command line stands in the table and, whole, in the view of the selected process") {
  Frame shown = frame(process("1", "ffmpeg", "0.5") + process("2", "obs", "0.4"));
  const std::string command = "ffmpeg -i " + std::string(120, 'x') + " out.mkv";
  shown.hosts.front().commands = {{cpu_key(shown.hosts.front().gpus.front().processes->front()), command}};
  CHECK(has(text(shown), "ffmpeg -i xxx"));
  CHECK_FALSE(has(text(shown), "out.mkv"));
  ViewState view{.over = Over::process, .selected = draw(shown, {}, {}, {}, {80, 24}).rows.front()};
  CHECK(has(text(shown, view), "out.mkv"));
  CHECK(has(text(shown, view), "PID      1\n"));
  CHECK_FALSE(has(text(shown, {.filter = "out.mkv"}), "obs"));
  shown.hosts.front().gpus.clear();
  CHECK(has(text(shown, view), "it has ended"));
}

TEST_CASE("channels have their pictures per second; in little room only those that are stalled") {
  Frame shown = frame(process("1", "ffmpeg", "0.5"));
  shown.hosts.front().channel_rates = {{.name = "news", .rate = 24.96, .nominal = 25.0},
                                       {.name = "sport", .rate = 3, .nominal = 50.0, .stalled = 12.4},
                                       {.name = "new", .rate = 30}};
  const std::string full = text(shown, {.detail = Detail::full}), line = text(shown, {.detail = Detail::line});
  CHECK(has(full, "3 channels, pictures per second\n  news 25.0 of 25.0  sport stalled 12 s  new 30.0\n"));
  CHECK(has(line, "3 channels, pictures per second\n  sport stalled 12 s\n"));
  shown.hosts.front().channel_rates.erase(shown.hosts.front().channel_rates.begin() + 1);
  CHECK(has(text(shown, {.detail = Detail::line}), "2 channels, none is stalled\n"));
}

TEST_CASE("without Unicode the screen is ASCII") {
  Frame shown = frame("intel_gpu_engine_busy_ratio{device=\"d\",gt=\"0\",engine=\"vcs0\",class=\"video\"} 0.5\n" +
                      process("1", "a", "0.5"));
  History history;
  history.add(0, shown.hosts.front());
  for (const bool tree : {false, true}) {
    for (const char c : draw(shown, history, {.tree = tree}, {.unicode = false}, {120, 40}).canvas.text())
      REQUIRE(static_cast<unsigned char>(c) < 0x80);
  }
}

TEST_CASE("without Unicode, names of processes, users and GPUs are ASCII and take as many columns") {
  const std::string page = "intel_gpu_info{device=\"d\",name=\"Arc\u2122 \u65e5\"} 1\n" +
                           process("1", "\u65e5\u672c", "0.5") +
                           "intel_gpu_process_info{device=\"d\",pid=\"1\",comm=\"\u65e5\u672c\",user=\"j\u00fcrgen\","
                           "container=\"\u65e5-x\"} 1\n";
  for (const Size size : {Size{80, 0}, Size{120, 40}}) {
    const std::string unicode = text(frame(page), {}, size, {.unicode = true});
    const std::string ascii = text(frame(page), {}, size, {.unicode = false});
    for (const char c : ascii) REQUIRE(static_cast<unsigned char>(c) < 0x80);
    CHECK(has(unicode, "j\u00fcrgen"));
    CHECK(has(ascii, "j?rgen"));
    CHECK(has(unicode, "\u65e5\u672c"));
    CHECK(has(ascii, "????"));
  }
  Frame failed = frame(page);
  failed.hosts.push_back({.name = "b:10068", .state = HostState::failed, .problem = "\u00e9"});
  CHECK(
      has(text(failed, {.filter = "\u00fc"}, {80, 24}, {.messages = {"\u00e4"}, .message_count = 1, .unicode = false}),
          "b:10068: ?\n"));
}

TEST_CASE("values in few characters") {
  CHECK(percent(0.345) == "34.5%");
  CHECK(percent(1) == "100%");
  CHECK(percent(std::nullopt) == "-");
  CHECK(percent_cell(1e300) == "9999");
  CHECK(short_bytes(0) == "0B");
  CHECK(short_bytes(380.0 * 1024 * 1024) == "380M");
  CHECK(short_bytes(1000.0 * 1024) == "1.0M");
  CHECK(short_bytes(15.94 * 1024 * 1024 * 1024) == "15.9G");
  CHECK(short_bytes(1e300) == ">999P");
  for (double value = 1; value < 1e19; value *= 1.7) CHECK(short_bytes(value).size() <= 5);
}

TEST_SUITE_END();
