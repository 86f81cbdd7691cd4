// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_ledger.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collector/engines/engines_clients.h"
#include "collector/processes/fdinfo_usage.h"
#include "collector/shared/client_gains.h"
#include "collector/workloads/workloads_table.h"
#include "support/fake_drm_nodes.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "0000:03:00.0";
constexpr std::size_t kRender = static_cast<std::size_t>(EngineClass::render);
constexpr double kHertz = 19'200'000;

ClientSnapshot scan_at(Nanoseconds time) {
  ClientSnapshot snapshot;
  snapshot.time = time;
  snapshot.boot_ticks = static_cast<std::uint64_t>(time / 10ms);
  return snapshot;
}

void add_client(ClientSnapshot& snapshot, std::uint32_t pid, std::uint64_t id, Nanoseconds used,
                Driver driver = Driver::i915) {
  DrmClient client;
  client.device = kGpu;
  client.driver = driver;
  client.id = id;
  client.pid = pid;
  client.time = snapshot.time;
  ClientEngine& engine = client.engines[kRender];
  const auto cycles = [](Nanoseconds time) { return static_cast<std::uint64_t>(to_seconds(time).value * kHertz); };
  if (driver == Driver::i915) {
    engine.busy_ns = static_cast<std::uint64_t>(used.count());
  } else {
    engine.cycles = cycles(used);
    engine.total_cycles = cycles(snapshot.time);
  }
  snapshot.clients.push_back(std::move(client));
}

// The clients of a scan, with the serials and slots that the ledger gives them.
std::vector<DrmClient> scan(ClientLedger& ledger, ClientSnapshot snapshot) {
  ClockRate clock;
  ledger.count(snapshot, snapshot.clients, clock);
  return snapshot.clients;
}

// What a reader is told of a scan's only client.
ClientGains::Use read(ClientGains& gains, const ClientSnapshot& snapshot) {
  gains.begin_scan(snapshot);
  const ClientGains::Use use = gains.advance(snapshot.clients.front());
  gains.end_scan();
  return use;
}

// Processes that come and go, and their clients, which work, close, are passed on, and are hidden for a while.
class History {
 public:
  History(unsigned seed, Driver driver, bool may_miss) : random_(seed), driver_(driver), may_miss_(may_miss) {}

  ClientSnapshot next() {
    now_ += std::chrono::milliseconds(200 + below(20'000));
    if (running_.size() < 8 && below(2) == 0) begin_process();
    if (!running_.empty() && below(6) == 0) end_process();
    if (!running_.empty() && below(2) == 0) open_client();
    if (!clients_.empty() && below(6) == 0) clients_.erase(clients_.begin() + below_signed(clients_.size()));
    if (!clients_.empty() && below(5) == 0) pass_on(clients_[below(clients_.size())]);
    if (below(12) == 0) sleeps_ = !sleeps_;

    ClientSnapshot snapshot = scan_at(now_);
    const std::size_t missed = may_miss_ && below(4) == 0 ? 1 + below(3) : 0;  // the way in which some are hidden
    snapshot.complete = missed != 1;
    snapshot.files_left_out = missed == 2 ? 1 : 0;
    snapshot.blocks_skipped = missed == 3 ? 1 : 0;
    for (const auto& [pid, start] : running_) {
      snapshot.pids.push_back(pid);
      snapshot.processes.emplace_back();
      snapshot.processes.back().pid = pid;
      snapshot.processes.back().start_time_ticks = start;
      snapshot.processes.back().comm = "app";
    }
    for (Client& client : clients_) {
      if (sleeps_) continue;
      const auto work = std::chrono::milliseconds(below(200));
      client.used += work;
      worked_ += work;
      if (missed != 0 && below(2) == 0) continue;
      const Nanoseconds correction = may_miss_ && below(8) == 0 ? std::min<Nanoseconds>(client.used, 100ms) : 0ms;
      add_client(snapshot, client.holder, client.id, client.used - correction, driver_);
    }
    std::sort(snapshot.clients.begin(), snapshot.clients.end(),
              [](const DrmClient& a, const DrmClient& b) { return std::tie(a.pid, a.id) < std::tie(b.pid, b.id); });
    return snapshot;
  }
  bool sleeps() const { return sleeps_; }
  double worked() const { return to_seconds(worked_).value; }

 private:
  struct Client {
    std::uint64_t id;
    std::uint32_t holder;
    Nanoseconds used{};
  };

  std::size_t below(std::size_t most) { return random_() % most; }
  std::ptrdiff_t below_signed(std::size_t most) { return static_cast<std::ptrdiff_t>(below(most)); }
  std::uint32_t any_process() { return std::next(running_.begin(), below_signed(running_.size()))->first; }

  void begin_process() {  // PIDs are given again
    running_.try_emplace(static_cast<std::uint32_t>(100 + below(12)), static_cast<std::uint64_t>(now_ / 10ms) - 1);
  }
  void end_process() {
    const std::uint32_t ended = any_process();
    running_.erase(ended);
    for (Client& client : clients_)  // a child may hold it
      if (client.holder == ended && below(2) == 0) pass_on(client);
    std::erase_if(clients_, [&](const Client& client) { return client.holder == ended; });
  }
  void open_client() {
    std::uint64_t id = next_id_++;
    if (driver_ == Driver::i915 && may_miss_) {  // which gives ids again
      id = below(20);
      if (std::any_of(clients_.begin(), clients_.end(), [&](const Client& client) { return client.id == id; })) return;
    }
    clients_.push_back({id, any_process(), {}});
  }
  void pass_on(Client& client) {
    if (!running_.empty()) client.holder = any_process();
  }

  std::minstd_rand random_;
  const Driver driver_;
  const bool may_miss_;
  Nanoseconds now_ = 1000s;
  Nanoseconds worked_{};
  bool sleeps_ = false;
  std::uint64_t next_id_ = 1000;
  std::map<std::uint32_t, std::uint64_t> running_;  // start times
  std::vector<Client> clients_;
};

// The three that add up the clients of a GPU, each from the same scans with the same counts.
struct Sums {
  ClientLedgers ledgers;
  CounterMemory memory;
  ClientEngineTime by_class{memory, kGpu, 1s};
  UsageTable by_process;
  WorkloadTable by_workload{4, 1s};
  std::map<std::uint32_t, double> processes;

  // Returns the scan with the counts.
  ClientSnapshot scan(ClientSnapshot snapshot, bool sleeps) {
    const std::vector<std::string> asleep = sleeps ? std::vector{kGpu} : std::vector<std::string>();
    ledgers.count(snapshot, {}, asleep);
    snapshot.clocks->use(kGpu, [](ClockRate& clock) { clock.set_reported(kHertz); });
    if (sleeps) {
      by_class.note_sleep(snapshot.time);
      by_process.note_sleep(snapshot.time);
    } else {
      (void)by_class.scan(snapshot);
      for (const ProcessUsage& usage : by_process.update(snapshot, snapshot.clients, 100, 1s).processes)
        if (usage.engines[kRender].busy) processes[usage.process->pid] = usage.engines[kRender].busy->value;
    }
    std::vector<WorkloadTable::Owner> owners;
    for (const ClientProcess& process : snapshot.processes)
      owners.push_back({process.pid, {.workload = "w" + std::to_string(process.pid), .kind = "comm"}});
    by_workload.advance({.snapshot = snapshot, .owners = owners, .processes = {}, .asleep = asleep});
    return snapshot;
  }
  double of_classes() const { return by_class.total_with({})[kRender].value_or(0); }
  double of_processes() const {
    double sum = 0;
    for (const auto& [pid, seconds] : processes) sum += seconds;
    return sum;
  }
  double of_workloads() const {
    double sum = 0;
    for (const WorkloadTable::Workload* workload : by_workload.workloads())
      for (const auto& [address, device] : workload->devices) sum += device.busy[kRender];
    return sum;
  }
};

}  // namespace

TEST_SUITE_BEGIN("client ledger");

TEST_CASE("over any history of scans the sums by class, by process and by workload agree") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      History history(seed, driver, true);
      Sums sums;
      ClientGains gains;
      double older = 0;  // what clients had counted before they were seen: only their process counts it
      for (int i = 0; i < 100; ++i) {
        ClientSnapshot next = history.next();
        const ClientSnapshot snapshot = sums.scan(std::move(next), history.sleeps());
        if (history.sleeps()) {
          gains.note_sleep(snapshot.time);
          continue;
        }
        gains.begin_scan(snapshot);
        for (const DrmClient& client : snapshot.clients) {
          const ClientGains::Use use = gains.advance(client);
          if (!use.is_recent)
            older += static_cast<double>(use.steps[kRender].gained) / (driver == Driver::i915 ? 1e9 : kHertz);
        }
        gains.end_scan();
        CAPTURE(i);
        REQUIRE(sums.of_workloads() == doctest::Approx(sums.of_classes()).epsilon(1e-6));
        REQUIRE(sums.of_processes() == doctest::Approx(sums.of_classes() + older).epsilon(1e-6));
      }
      CHECK(sums.of_classes() > 1);
    }
  }
}

TEST_CASE("while scans miss nothing, each second of work is in each sum once, however long the GPU sleeps") {
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      History history(seed, driver, false);
      Sums sums;
      (void)sums.scan(scan_at(1s), false);
      for (int i = 0; i < 200; ++i) {
        const ClientSnapshot snapshot = history.next();
        (void)sums.scan(snapshot, history.sleeps());
      }
      CHECK(sums.of_classes() == doctest::Approx(history.worked()).epsilon(1e-6));
      CHECK(sums.of_processes() == doctest::Approx(history.worked()).epsilon(1e-6));
      CHECK(sums.of_workloads() == doctest::Approx(history.worked()).epsilon(1e-6));
    }
  }
}

TEST_CASE("a client that is not seen is remembered while its process runs, and a few scans longer") {
  for (const int unseen : {8, 30, 1000}) {
    CAPTURE(unseen);
    ClientLedger ledger;
    ClientSnapshot snapshot = scan_at(1s);
    add_client(snapshot, 7, 1, 1s);
    add_client(snapshot, 8, 2, 1s);
    snapshot.pids = {7, 8};
    const std::vector<DrmClient> first = scan(ledger, snapshot);
    for (int i = 0; i < unseen; ++i) {
      ClientSnapshot without = scan_at(std::chrono::seconds(2 + i));
      without.pids = {8};
      scan(ledger, without);
    }
    snapshot.time = std::chrono::seconds(2 + unseen);
    const std::vector<DrmClient> again = scan(ledger, snapshot);
    CHECK((again[0].serial == first[0].serial) == (unseen == 8));
    CHECK(again[1].serial == first[1].serial);
  }
}

TEST_CASE("a scan that misses clients takes none for closed") {
  ClientLedger ledger;
  ClientSnapshot snapshot = scan_at(1s);
  add_client(snapshot, 7, 1, 1s);
  snapshot.pids = {7};
  const std::uint64_t serial = scan(ledger, snapshot)[0].serial;
  for (int i = 2; i < 100; ++i) {
    ClientSnapshot later = scan_at(std::chrono::seconds(i));
    later.complete = i % 3 != 0;
    later.files_left_out = i % 3 == 1 ? 1 : 0;
    later.blocks_skipped = i % 3 == 2 ? 1 : 0;
    scan(ledger, later);
  }
  snapshot.time = 100s;
  CHECK(scan(ledger, snapshot)[0].serial == serial);
}

TEST_CASE("the memory is bounded, however many clients a process opens and closes") {
  ClientLedger ledger;
  std::uint64_t id = 0;
  for (int i = 1; i < 200; ++i) {
    ClientSnapshot snapshot = scan_at(std::chrono::seconds(i));
    snapshot.pids = {7};
    for (int opened = 0; opened < 100; ++opened) add_client(snapshot, 7, ++id, 1ms);
    for (const DrmClient& client : scan(ledger, snapshot)) CHECK(client.slot < ClientLedger::kMostUnseen + 200);
  }
}

TEST_CASE("a reader that missed scans is told what was gained in all of them") {
  ClientLedgers ledgers;
  ClientGains each, some;
  std::uint64_t by_each = 0, by_some = 0;
  Nanoseconds used{};
  for (int i = 1; i <= 60; ++i) {
    ClientSnapshot snapshot = scan_at(std::chrono::seconds(i));
    used += 100ms;
    if (i == 20) used -= 50ms;  // a correction: it spoils the window
    add_client(snapshot, 7, 1, used);
    ledgers.count(snapshot, {}, {});
    const auto gained = read(each, snapshot).steps[kRender];
    CHECK(gained.spoiled == (i == 20 && gained.moved == 0));
    by_each += gained.gained;
    if (i % 7 != 1) continue;
    by_some += read(some, snapshot).steps[kRender].gained;
    if (i == 57) CHECK(by_some == by_each);
  }
}

TEST_CASE("a client under an id that was given again while a reader did not look is a new one") {
  ClientLedgers ledgers;
  ClientGains gains;
  ClientSnapshot first = scan_at(1s);
  add_client(first, 7, 1, 5s);
  ledgers.count(first, {}, {});
  CHECK(read(gains, first).is_new);
  ClientSnapshot missed = scan_at(2s);  // the process of the first has ended
  add_client(missed, 8, 1, 100ms);
  ledgers.count(missed, {}, {});
  ClientSnapshot second = scan_at(20s);
  add_client(second, 8, 1, 6s);
  ledgers.count(second, {}, {});
  const ClientGains::Use use = read(gains, second);
  CHECK(use.is_new);
  CHECK(use.is_recent);
  CHECK(use.steps[kRender].gained == 6'000'000'000);
}

TEST_CASE("the place of a forgotten client is used again, and its next user is a new client") {
  ClientLedgers ledgers;
  ClientGains gains;
  std::uint64_t id = 0;
  for (int i = 1; i < 300; ++i) {
    ClientSnapshot snapshot = scan_at(std::chrono::seconds(i));
    add_client(snapshot, 7, ++id, 1ms);
    ledgers.count(snapshot, {}, {});
    CHECK(snapshot.clients.front().slot <= ClientLedger::kMostScans + 1);
    const ClientGains::Use use = read(gains, snapshot);
    CHECK(use.is_new);
    CHECK(use.steps[kRender].gained == 1'000'000);
  }
}

TEST_CASE("the rate of a clock that one collector asked for serves all, and it is asked for once in each binding") {
  ClientLedgers ledgers;
  ClientSnapshot snapshot = scan_at(1s);
  add_client(snapshot, 7, 1, 1s, Driver::xe);
  ledgers.count(snapshot, {}, {});
  CHECK_FALSE(snapshot.hertz(kGpu));
  test::FakeDrmNodes nodes;
  Gpu gpu;
  gpu.address = kGpu;
  gpu.driver = Driver::xe;
  gpu.render_node = "renderD128";
  snapshot.clocks->query_driver(nodes, gpu);
  snapshot.clocks->query_driver(nodes, gpu);
  CHECK(nodes.opens == 1);
  gpu.binding = 1;
  snapshot.clocks->query_driver(nodes, gpu);
  CHECK(nodes.opens == 2);
}

TEST_CASE("after the PMU has measured, nothing that clients did meanwhile is counted again") {
  ClientLedgers ledgers;
  ClientGains gains;
  const auto count = [&](ClientSnapshot snapshot) {
    ledgers.count(snapshot, {}, {});
    gains.begin_scan(snapshot);
    std::vector<bool> recent;
    for (const DrmClient& client : snapshot.clients) recent.push_back(gains.advance(client).is_recent);
    gains.end_scan();
    return recent;
  };
  (void)count(scan_at(1s));
  gains.forget_clients();  // the PMU measures, and is closed an hour later
  ClientSnapshot cut_short = scan_at(3600s);
  cut_short.complete = false;
  (void)count(cut_short);
  ClientSnapshot next = scan_at(3601s);
  add_client(next, 7, 1, 1800s);
  next.processes.emplace_back();
  next.processes.back().pid = 7;
  next.processes.back().start_time_ticks = 200;
  CHECK(count(next) == std::vector{false});
}

TEST_SUITE_END();
