// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"

namespace igpu::capture {
namespace {

// The numbers of a value, in the order of its answer.
auto fields(AdapterFacts& it) { return std::tie(it.vendor, it.device, it.revision, it.bus, it.slot, it.function); }
auto fields(AdapterCounts& it) { return std::tie(it.nodes, it.segments); }
auto fields(AdapterNode& it) { return std::tie(it.type); }
auto fields(AdapterSegment& it) { return std::tie(it.limit, it.resident, it.aperture); }
auto fields(AdapterMemory& it) { return std::tie(it.dedicated, it.shared); }
auto fields(NodeClock& it) { return std::tie(it.hertz, it.max_hertz); }
auto fields(AdapterSensors& it) { return std::tie(it.fan_rpm, it.power, it.deci_celsius); }
auto fields(std::int64_t& it) { return std::tie(it); }
auto fields(std::uint64_t& it) { return std::tie(it); }

// A process without its handle.
struct ProcessFacts {
  std::string name;
  bool may_open = false, cpu_known = false, resident_known = false;
  std::uint64_t started = 0, resident = 0;
  std::int64_t cpu = 0;
};
auto fields(ProcessFacts& it) {
  return std::tie(it.may_open, it.started, it.cpu_known, it.cpu, it.resident_known, it.resident);
}

template <class T>
constexpr bool has_name = requires(T value) {
  value.name;
};

template <class T>
Answer answer_of(T value) {
  std::vector<std::uint64_t> numbers;
  std::apply([&](auto&... field) { (numbers.push_back(static_cast<std::uint64_t>(field)), ...); }, fields(value));
  Answer answer = numbers_answer(std::move(numbers));
  if constexpr (has_name<T>) {
    answer.kind = AnswerKind::named;
    answer.text = std::move(value.name);
  }
  return answer;
}

template <class T>
Reading<T> value_of(const Answer& answer) {
  T value{};
  auto to = fields(value);
  constexpr std::size_t kCount = std::tuple_size_v<decltype(to)>;
  const AnswerKind kind = has_name<T> ? AnswerKind::named : AnswerKind::numbers;
  if (answer.kind != kind || answer.numbers.size() != kCount) return negative<T>(answer);
  auto from = answer.numbers.begin();
  std::apply([&](auto&... field) { ((field = static_cast<std::decay_t<decltype(field)>>(*from++)), ...); }, to);
  if constexpr (has_name<T>) value.name = answer.text;
  return value;
}

template <class T, class Ask>
Reading<T> asked(AnswerSource& source, const std::string& key, Ask&& machine) {
  return value_of<T>(source.ask(key, [&] {
    const Reading<T> told = machine();
    return told ? answer_of(*told) : negative(told);
  }));
}

class AskedAdapter final : public GpuAdapter {
 public:
  AskedAdapter(AnswerSource& source, std::shared_ptr<GpuAdapter> inner, std::string luid)
      : source_(source), inner_(std::move(inner)), luid_(std::move(luid)) {}

  Reading<AdapterCounts> counts() override {
    return asked<AdapterCounts>(source_, key("counts"), [&] { return inner_->counts(); });
  }
  Reading<AdapterNode> node(std::uint32_t node) override {
    return asked<AdapterNode>(source_, key("node", node), [&] { return inner_->node(node); });
  }
  Reading<std::int64_t> running(std::uint32_t node) override {
    return asked<std::int64_t>(source_, key("running", node), [&] { return inner_->running(node); });
  }
  Reading<AdapterSegment> segment(std::uint32_t segment) override {
    return asked<AdapterSegment>(source_, key("segment", segment), [&] { return inner_->segment(segment); });
  }
  Reading<AdapterMemory> memory() override {
    return asked<AdapterMemory>(source_, key("memory"), [&] { return inner_->memory(); });
  }
  Reading<NodeClock> clock(std::uint32_t node) override {
    return asked<NodeClock>(source_, key("clock", node), [&] { return inner_->clock(node); });
  }
  Reading<AdapterSensors> sensors() override {
    return asked<AdapterSensors>(source_, key("sensors"), [&] { return inner_->sensors(); });
  }
  Reading<std::int64_t> running(const AdapterProcess& process, std::uint32_t node) override {
    return asked<std::int64_t>(source_, key(kProcessRunning, process, node),
                               [&] { return inner_->running(process, node); });
  }
  Reading<std::uint64_t> committed(const AdapterProcess& process, std::uint32_t segment) override {
    return asked<std::uint64_t>(source_, key(kProcessCommitted, process, segment),
                                [&] { return inner_->committed(process, segment); });
  }

 private:
  std::string key(const char* word) const { return question(std::string("adapter.") + word, luid_); }
  std::string key(const char* word, std::uint32_t number) const { return key(word) + '/' + std::to_string(number); }
  std::string key(std::string_view word, const AdapterProcess& process, std::uint32_t number) const {
    return question(word, std::to_string(process.pid) + '/' + luid_ + '/' + std::to_string(number));
  }

  AnswerSource& source_;
  const std::shared_ptr<GpuAdapter> inner_;  // null on replay
  const std::string luid_;
};

AdapterProcess process_of(std::uint32_t pid, const ProcessFacts& facts) {
  AdapterProcess process;
  process.pid = pid;
  process.name = facts.name;
  process.started = facts.started;
  if (facts.cpu_known) process.cpu = Nanoseconds(facts.cpu);
  if (facts.resident_known) process.resident = facts.resident;
  if (facts.may_open) process.handle = {reinterpret_cast<void*>(std::uintptr_t{pid}), [](void*) {}};
  return process;
}

ProcessFacts facts_of(const AdapterProcess& process) {
  return {.name = process.name,
          .may_open = process.handle != nullptr,
          .cpu_known = process.cpu.has_value(),
          .resident_known = process.resident.has_value(),
          .started = process.started,
          .resident = process.resident.value_or(0),
          .cpu = process.cpu.value_or(Nanoseconds(0)).count()};
}

class AskedEngineCounters final : public EngineCounters {
 public:
  AskedEngineCounters(AnswerSource& source, EngineCounters* inner) : source_(source), inner_(inner) {}

  Reading<std::vector<EngineCounter>> read() override {
    const Answer answer = source_.ask(std::string(kEngineCounters), [&] {
      const auto told = inner_->read();
      if (!told) return negative(told);
      Answer all = text_answer(AnswerKind::names, "");
      for (const EngineCounter& counter : *told) all.names.push_back(text_of(counter));
      return all;
    });
    if (answer.kind != AnswerKind::names) return negative<std::vector<EngineCounter>>(answer);
    std::vector<EngineCounter> all;
    for (const std::string& text : answer.names) all.push_back(engine_counter_of(text));
    return all;
  }

 private:
  AnswerSource& source_;
  EngineCounters* const inner_;  // null on replay
};

class AskedAdapters final : public GpuAdapters {
 public:
  AskedAdapters(AnswerSource& source, GpuAdapters* inner)
      : source_(source), inner_(inner), counters_(source, inner ? inner->engine_counters() : nullptr) {}

  Reading<std::vector<AdapterFacts>> list() override {
    const Answer luids = source_.ask(std::string(kAdapterList), [&] {
      const auto listed = inner_->list();
      if (!listed) return negative(listed);
      Answer answer = numbers_answer({});
      for (const AdapterFacts& facts : *listed) {
        answer.numbers.push_back(facts.luid);
        (void)source_.keep(facts_key(facts.luid), answer_of(facts));
      }
      return answer;
    });
    if (luids.kind != AnswerKind::numbers) return negative<std::vector<AdapterFacts>>(luids);
    std::vector<AdapterFacts> all;
    for (const std::uint64_t luid : luids.numbers) {
      auto facts = value_of<AdapterFacts>(source_.ask(facts_key(luid), [] { return Answer(); }));
      if (!facts) return facts.propagate<std::vector<AdapterFacts>>();
      facts->luid = luid;
      all.push_back(*std::move(facts));
    }
    return all;
  }
  std::shared_ptr<GpuAdapter> open(std::uint64_t luid) override {
    std::string text = hexadecimal(luid);
    const std::string key = question("adapter.open", text);
    std::shared_ptr<GpuAdapter> inner;
    if (inner_) {
      inner = inner_->open(luid);
      (void)source_.keep(key, inner ? Answer() : absent_answer({Reason::kernel, ENODEV}));
      if (!inner) return nullptr;
    } else if (source_.ask(key, {}).kind != AnswerKind::done) {
      return nullptr;
    }
    return std::make_shared<AskedAdapter>(source_, std::move(inner), std::move(text));
  }
  EngineCounters* engine_counters() override { return inner_ && !inner_->engine_counters() ? nullptr : &counters_; }
  // While it is recorded, the handles are the system's.
  Reading<AdapterProcesses> processes() override {
    if (inner_) {
      auto told = inner_->processes();
      keep(told);
      return told;
    }
    const Answer list = source_.ask(question("process.list", ""), {});
    constexpr std::size_t kHead = 2;
    if (list.kind != AnswerKind::numbers || list.numbers.size() < kHead) return negative<AdapterProcesses>(list);
    AdapterProcesses all{.now = list.numbers[0], .self = static_cast<std::uint32_t>(list.numbers[1]), .processes = {}};
    for (const std::uint64_t number : std::span(list.numbers).subspan(kHead)) {
      const auto pid = static_cast<std::uint32_t>(number);
      const auto facts = value_of<ProcessFacts>(source_.ask(facts_of_process(pid), {}));
      all.processes.push_back(process_of(pid, facts.value_or({})));
    }
    return all;
  }

 private:
  static std::string facts_key(std::uint64_t luid) { return question("adapter.facts", hexadecimal(luid)); }
  static std::string facts_of_process(std::uint32_t pid) { return question(kProcessFacts, std::to_string(pid)); }

  void keep(const Reading<AdapterProcesses>& told) {
    Answer list = told ? numbers_answer({told->now, told->self}) : negative(told);
    if (told) {
      for (const AdapterProcess& process : told->processes) {
        list.numbers.push_back(process.pid);
        (void)source_.keep(facts_of_process(process.pid), answer_of(facts_of(process)));
      }
    }
    (void)source_.keep(question("process.list", ""), std::move(list));
  }

  AnswerSource& source_;
  GpuAdapters* const inner_;
  AskedEngineCounters counters_;
};

}  // namespace

std::string text_of(const EngineCounter& counter) { return std::to_string(counter.running) + ' ' + counter.instance; }

EngineCounter engine_counter_of(std::string_view text) {
  EngineCounter counter;
  const std::size_t blank = std::min(text.find(' '), text.size());
  (void)std::from_chars(text.data(), text.data() + blank, counter.running);
  counter.instance = text.substr(std::min(blank + 1, text.size()));
  return counter;
}

// Discovery asks for the list first in every pass, so a capture without it is not of Windows.
std::unique_ptr<GpuAdapters> asked_adapters(AnswerSource& source, GpuAdapters* recorded) {
  if (!recorded && !source.find(std::string(kAdapterList))) return nullptr;
  return std::make_unique<AskedAdapters>(source, recorded);
}

}  // namespace igpu::capture
