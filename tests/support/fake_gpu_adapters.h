// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/gpu_adapters.h"
#include "machine/windows_status.h"
#include "support/adapter_script.h"

namespace igpu::test {

// Windows' graphics adapters and their performance counters, as a script tells them (support/adapter_script.h).
class FakeGpuAdapters final : public GpuAdapters, public EngineCounters {
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

  std::shared_ptr<State> state_;
  std::uint64_t scrape_ = 0;
};

}  // namespace igpu::test
