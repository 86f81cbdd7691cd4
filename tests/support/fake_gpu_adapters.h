// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/gpu_adapters.h"
#include "machine/pdh_status.h"
#include "support/adapter_script.h"

namespace igpu::test {

// Windows' graphics adapters, their performance counters and their Sysman, as a script tells them
// (support/adapter_script.h).
class FakeGpuAdapters final : public GpuAdapters, public EngineCounters, public Sysman {
 public:
  explicit FakeGpuAdapters(std::string_view script) : state_(std::make_shared<State>()) { play(script); }

  // Another script from now on; what was opened answers by its own.
  void play(std::string_view script) {
    state_->adapters.clear();
    for (ScriptAdapter& adapter : read_adapter_script(script))
      state_->adapters.push_back(std::make_shared<const ScriptAdapter>(std::move(adapter)));
  }
  void advance(std::uint64_t milliseconds) { state_->milliseconds += milliseconds; }
  void next_scrape() { ++scrape_; }
  AdapterProcesses running{.now = 133'000'000'000'000'000, .self = 1, .processes = {}};
  void add_process(std::uint32_t pid, const std::string& name) {
    running.processes.push_back({.pid = pid,
                                 .started = running.now - 10'000'000,
                                 .name = name,
                                 .cpu = std::chrono::seconds(2),
                                 .resident = 4096,
                                 .handle = std::make_shared<int>(0)});
  }

  Reading<std::vector<AdapterFacts>> list() override {
    std::vector<AdapterFacts> facts;
    for (const auto& adapter : state_->adapters)
      if (adapter->first <= scrape_ && scrape_ <= adapter->last) facts.push_back(adapter->facts);
    return facts;
  }
  std::shared_ptr<GpuAdapter> open(std::uint64_t luid) override {
    for (const auto& adapter : state_->adapters)
      if (adapter->facts.luid == luid) return std::make_shared<Adapter>(state_, adapter);
    return nullptr;
  }
  Reading<AdapterProcesses> processes() override { return running; }
  EngineCounters* engine_counters() override { return has_counters ? this : nullptr; }
  Sysman* sysman() override { return this; }
  bool has_counters = true;

  Reading<std::vector<EngineCounter>> read() override {
    std::vector<EngineCounter> all;
    for (const auto& adapter : state_->adapters) {
      if (const auto fails = adapter->fails.find(AdapterQuery::pdh); fails != adapter->fails.end())
        return outcome_of_pdh_status<std::vector<EngineCounter>>(static_cast<PdhStatus>(fails->second), "fake");
      const auto counters = adapter->engine_counters(state_->milliseconds);
      all.insert(all.end(), counters.begin(), counters.end());
    }
    return all;
  }
  Reading<std::shared_ptr<SysmanDevice>> device(std::string_view pci_address) override {
    for (const auto& adapter : state_->adapters) {
      const AdapterFacts& facts = adapter->facts;
      std::array<char, 64> address{};
      std::snprintf(address.data(), address.size(), "0000:%02x:%02x.%x", facts.bus, facts.slot, facts.function);
      if (pci_address != address.data() || !adapter->has_sysman()) continue;
      if (adapter->result(AdapterQuery::sysman) != ZeResult::success)
        return outcome_of_ze_result<std::shared_ptr<SysmanDevice>>(adapter->result(AdapterQuery::sysman), "fake");
      return std::shared_ptr<SysmanDevice>(std::make_shared<Sensors>(state_, adapter));
    }
    return Absent{Reason::kernel, ENODEV};
  }

 private:
  struct State {
    std::vector<std::shared_ptr<const ScriptAdapter>> adapters;
    std::uint64_t milliseconds = 0;
  };
  class Adapter final : public GpuAdapter {
   public:
    Adapter(std::shared_ptr<State> state, std::shared_ptr<const ScriptAdapter> script)
        : state_(std::move(state)), script_(std::move(script)) {}
    Reading<AdapterCounts> counts() override {
      return answer(AdapterQuery::counts, 0, 1, AdapterCounts{UINT32_MAX, UINT32_MAX},
                    [&] { return script_->told_counts(); });
    }
    Reading<AdapterNode> node(std::uint32_t node) override {
      return answer(AdapterQuery::node, node, script_->nodes.size(), AdapterNode{}, [&] {
        return AdapterNode{script_->nodes[node].type, script_->nodes[node].name};
      });
    }
    Reading<std::int64_t> running(std::uint32_t node) override {
      return answer(AdapterQuery::running, node, script_->nodes.size(), std::int64_t{-1},
                    [&] { return script_->running(node, state_->milliseconds); });
    }
    Reading<AdapterSegment> segment(std::uint32_t segment) override {
      return answer(AdapterQuery::segment, segment, script_->segments.size(),
                    AdapterSegment{UINT64_MAX, UINT64_MAX, true}, [&] { return script_->segments[segment]; });
    }
    Reading<AdapterMemory> memory() override {
      return answer(AdapterQuery::memory, 0, 1, AdapterMemory{}, [&] { return script_->memory; });
    }
    Reading<NodeClock> clock(std::uint32_t node) override {
      return answer(AdapterQuery::clock, node, script_->nodes.size(), NodeClock{},
                    [&] { return script_->nodes[node].clock; });
    }
    Reading<AdapterSensors> sensors() override {
      return answer(AdapterQuery::sensors, 0, 1, AdapterSensors{}, [&] { return *script_->sensors; });
    }
    Reading<std::int64_t> running(const AdapterProcess& process, std::uint32_t node) override {
      return answer(AdapterQuery::process_node, node, script_->nodes.size(), std::int64_t{-1},
                    [&] { return script_->running(process.name, node, state_->milliseconds); });
    }
    Reading<std::uint64_t> committed(const AdapterProcess& process, std::uint32_t segment) override {
      return answer(AdapterQuery::process_segment, segment, script_->segments.size(), UINT64_MAX,
                    [&] { return script_->committed(process.name, segment); });
    }

   private:
    // unfilled: what the door makes of a result that was not filled.
    template <class T, class Told>
    Reading<T> answer(AdapterQuery query, std::size_t number, std::size_t of, T unfilled, Told&& told) const {
      const NtStatus status = script_->status(query, number, of);
      if (status != NtStatus::success) return outcome_of_status<T>(status, "fake");
      if (!script_->fills(query)) return unfilled;
      return T(told());
    }
    std::shared_ptr<State> state_;
    std::shared_ptr<const ScriptAdapter> script_;
  };

  class Sensors final : public SysmanDevice {
   public:
    Sensors(std::shared_ptr<State> state, std::shared_ptr<const ScriptAdapter> script)
        : state_(std::move(state)), script_(std::move(script)) {}
    Reading<std::vector<SysmanEnergy>> energies() override {
      std::vector<SysmanEnergy> all;
      for (const ScriptEnergy& one : script_->energies)
        all.push_back({one.domain, answer<std::uint64_t>(AdapterQuery::energy, one.milliwatts * state_->milliseconds)});
      return all;
    }
    Reading<std::vector<SysmanTemperature>> temperatures() override {
      std::vector<SysmanTemperature> all;
      for (const auto& [sensor, celsius] : script_->celsius)
        all.push_back({sensor, answer<double>(AdapterQuery::celsius, celsius)});
      return all;
    }
    Reading<std::vector<Reading<std::int32_t>>> fans() override {
      std::vector<Reading<std::int32_t>> all;
      for (const std::int32_t rpm : script_->fans) all.push_back(answer<std::int32_t>(AdapterQuery::turning, rpm));
      return all;
    }
    Reading<std::vector<Reading<SysmanBytes>>> memories() override {
      std::vector<Reading<SysmanBytes>> all;
      for (const SysmanBytes& bytes : script_->traffic)
        all.push_back(answer<SysmanBytes>(AdapterQuery::traffic, SysmanBytes{bytes.read * state_->milliseconds,
                                                                             bytes.written * state_->milliseconds}));
      return all;
    }

   private:
    template <class T>
    Reading<T> answer(AdapterQuery query, const T& value) const {
      if (script_->result(query) != ZeResult::success) return outcome_of_ze_result<T>(script_->result(query), "fake");
      return value;
    }
    std::shared_ptr<State> state_;
    std::shared_ptr<const ScriptAdapter> script_;
  };

  std::shared_ptr<State> state_;
  std::uint64_t scrape_ = 0;
};

}  // namespace igpu::test
