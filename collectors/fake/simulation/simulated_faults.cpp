// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fake/simulation/simulated_parts.h"
#include "kernel/device/engine_class.h"

namespace igpu::simulation {
namespace {

KernelMessage message_of(const std::string& text, std::span<char> buffer) {
  return {KernelMessage::State::message, {buffer.data(), text.copy(buffer.data(), buffer.size())}};
}

}  // namespace

Reading<KernelMessage> SimulatedKernelLog::next(std::span<char> buffer) {
  const std::lock_guard lock(mutex_);
  write_until(world_.clock.now());
  if (records_.empty()) return KernelMessage{};
  const std::string record = std::move(records_.front());
  records_.pop_front();
  return message_of(record, buffer);
}

void SimulatedKernelLog::write_until(ScriptTime now) {
  for (std::size_t i = 0; i < world_.script.hangs.size(); ++i) {
    const HangScript& hang = world_.script.hangs[i];
    const std::uint64_t until = hang.count(now);
    if (!has_begun_ && until > 0) written_[i] = until - 1;
    for (; written_[i] < until; ++written_[i]) write(hang, hang.time(written_[i]));
  }
  has_begun_ = true;
}

void SimulatedKernelLog::write(const HangScript& hang, ScriptTime time) {
  const GpuScript& gpu = world_.script.gpus[hang.gpu];
  const ProcessScript* const process = world_.script.process(hang.pid);
  const std::string who = process->comm + " [" + std::to_string(process->pid) + "]";
  const EngineClassNames& names = names_of(hang.engine_class);
  if (gpu.model.driver == Driver::xe) {
    write_line(gpu, time,
               "Tile0: GT0: Engine reset: engine_class=" + std::string(names.short_name) +
                   ", logical_mask: 0x1, guc_id=27, state=0x3");
    write_line(gpu, time,
               "Tile0: GT0: Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=27, flags=0x0 in " + who);
    return;
  }
  constexpr std::array<std::string_view, kEngineClasses> kMasks{"1", "2", "4", "8", "10"};
  write_line(gpu, time,
             "GPU HANG: ecode 12:" + std::string(kMasks[static_cast<std::size_t>(hang.engine_class)]) +
                 ":85dffffb, in " + who);
}

// Of the log's own clock.
void SimulatedKernelLog::write_line(const GpuScript& gpu, ScriptTime time, const std::string& text) {
  const Nanoseconds logged = std::max(world_.caller.now() - (world_.clock.now() - time), Nanoseconds::zero());
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(logged).count();
  records_.push_back("5," + std::to_string(++sequence_) + "," + std::to_string(microseconds) + ",-;" +
                     to_string(gpu.model.driver) + " " + gpu.address + ": [drm] " + text +
                     "\n SUBSYSTEM=pci\n DEVICE=+pci:" + gpu.address + "\n");
}

SimulatedHotplugs::SimulatedHotplugs(const World& world) : world_(world), sent_(hotplugs(world.clock.now())) {}

Reading<KernelMessage> SimulatedHotplugs::next(std::span<char> buffer) {
  const std::lock_guard lock(mutex_);
  while (sent_ < hotplugs(world_.clock.now())) {
    if (gpu_ == world_.script.gpus.size()) {
      gpu_ = 0;
      ++sent_;
      continue;
    }
    const GpuScript& gpu = world_.script.gpus[gpu_++];
    if (gpu.suspended) continue;
    const std::string path = "/" + gpu.pci_path() + "/drm/" + gpu.card_name();
    std::string text = "change@" + path;
    for (const std::string& pair : {std::string("ACTION=change"), "DEVPATH=" + path, std::string("SUBSYSTEM=drm"),
                                    std::string("HOTPLUG=1"), "CONNECTOR=" + std::to_string(output_id(gpu))})
      text += '\0' + pair;
    text += '\0';
    return message_of(text, buffer);
  }
  return KernelMessage{};
}

}  // namespace igpu::simulation
