// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "fake/simulation/profiles.h"

namespace igpu::simulation {

namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kMicro = 1e6;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kVramPage = 65536;
constexpr ScriptTime kSecond = std::chrono::seconds(1);
constexpr ScriptTime kUptime = std::chrono::seconds(41'237);

// The kernel's own copies and context switches: they count for the engine, but for no client.
double own_share(EngineClass engine_class, bool has_vram) {
  if (engine_class != EngineClass::copy) return 0;
  return has_vram ? 0.004 : 0.001;
}

double share_of(const Course& nanoseconds, std::size_t k) {
  return static_cast<double>(nanoseconds.at_second(k)) / kNanoseconds;
}

// Share of the time in which at least one engine of the GT is busy: engines overlap, so use that of the busiest.
double busiest_share(const GpuScript& gpu, unsigned gt, std::size_t k) {
  double most = 0;
  for (const EngineScript& engine : gpu.engines) {
    if (engine.model.gt == gt) most = std::max(most, share_of(engine.busy, k));
  }
  return most;
}

std::uint64_t in_steps_of_50_mhz(double mhz) { return static_cast<std::uint64_t>(std::lround(mhz / 50)) * 50'000; }

// Channels stall for three seconds of each minute.
Course unless_stalled(const Course& course) {
  return Course::from([&](std::size_t k) { return k % 60 < 3 ? 0 : course.at_second(k); });
}

// Whole jobs: at 29.97 a second, 29 in some seconds.
Course channel(double per_second) {
  return unless_stalled(Course::from([&](std::size_t k) {
    const auto until = [&](std::size_t second) {
      return static_cast<std::uint64_t>(per_second * static_cast<double>(second));
    };
    return until(k + 1) - until(k);
  }));
}

void add_engines(GpuScript& gpu) {
  for (const EngineModel& model : gpu.model.engines) {
    EngineScript engine;
    engine.model = model;
    engine.name = std::string(names_of(model.engine_class).short_name) + std::to_string(model.instance);
    if (!gpu.suspended) {
      engine.own = Course(Wave{own_share(model.engine_class, gpu.model.vram_bytes > 0), 0}, kNanoseconds);
      engine.busy = engine.own;
    }
    gpu.engines.push_back(std::move(engine));
  }
}

void add_functions(GpuScript& gpu, const GpuData& data) {
  for (EngineScript& engine : gpu.engines) engine.of_functions.resize(data.functions.size());
  for (std::size_t i = 0; i < data.functions.size(); ++i) {
    gpu.functions.push_back(data.functions[i].script);
    for (const EngineLoad& load : data.functions[i].loads) {
      EngineScript& engine = gpu.engines[static_cast<std::size_t>(gpu.engine(load.engine) - gpu.engines.data())];
      const Course course(load.share, kNanoseconds);
      engine.of_functions[i] += course;
      engine.busy += course;
    }
  }
}

void derive_waits(GpuScript& gpu) {
  for (EngineScript& engine : gpu.engines) {
    engine.wait = Course::from([&](std::size_t k) { return engine.busy.at_second(k) / 40; });
    engine.sema = Course::from([&](std::size_t k) { return engine.busy.at_second(k) / 25; });
  }
}

void derive_power(GpuScript& gpu) {
  const GpuModel& model = gpu.model;
  gpu.package_microwatts = Course::from([&](std::size_t k) {
    if (gpu.suspended) return 0.0;
    double awake = 0;
    double watts = 0;
    for (const EngineScript& engine : gpu.engines) {
      const double share = share_of(engine.busy, k);
      awake = std::max(awake, share);
      watts += share * model.busy_watts[static_cast<std::size_t>(engine.model.engine_class)];
    }
    return (watts + model.idle_watts * (0.35 + 0.65 * std::min(1.0, awake))) * kMicro;
  });
  if (model.kind == GpuKind::discrete && !gpu.suspended) {
    gpu.card_microwatts = Course::from(
        [&](std::size_t k) { return static_cast<double>(gpu.package_microwatts.at_second(k)) * 1.12 + 6.5 * kMicro; });
  }
  gpu.temperature = Course::from([&](std::size_t k) {
    const double watts = static_cast<double>(gpu.package_microwatts.at_second(k)) / kMicro;
    const double span = model.power_limit_watts > 0 ? model.power_limit_watts : 30;
    return std::floor(38 + 42 * watts / span) * 1000;
  });
}

void derive_gts(GpuScript& gpu) {
  for (unsigned number = 0; number < gpu.model.gts.size(); ++number) {
    GtScript gt;
    gt.model = gpu.model.gts[number];
    const double lowest = gt.model.rpn;
    const double span = gt.model.rp0 - lowest;
    gt.pl1_throttled = Course::from([&](std::size_t k) {
      const double watts = static_cast<double>(gpu.package_microwatts.at_second(k)) / kMicro;
      return gpu.model.power_limit_watts > 0 && watts > 0.9 * gpu.model.power_limit_watts;
    });
    gt.requested_khz = Course::from([&](std::size_t k) {
      return in_steps_of_50_mhz(lowest + span * std::min(1.0, 0.2 + busiest_share(gpu, number, k)));
    });
    gt.actual_khz = Course::from([&](std::size_t k) {
      const auto khz = static_cast<double>(gt.requested_khz.at_second(k));
      // The hardware runs one step below the request, and lower under a power limit.
      const double share = gt.pl1_throttled.at_second(k) != 0 ? 0.85 : 0.97;
      return in_steps_of_50_mhz(khz * share / 1000);
    });
    gt.awake = Course::from([&](std::size_t k) {
      if (gpu.suspended) return 0.0;
      return std::min(1.0, 0.012 + 1.06 * busiest_share(gpu, number, k)) * kNanoseconds;
    });
    gt.asleep = Course::from([&](std::size_t k) { return std::uint64_t{1'000'000'000} - gt.awake.at_second(k); });
    const auto counted = [&](const Course& khz) {
      return Course::from([&](std::size_t k) { return static_cast<double>(khz.at_second(k)) * share_of(gt.awake, k); });
    };
    gt.actual_awake_khz = counted(gt.actual_khz);
    gt.requested_awake_khz = counted(gt.requested_khz);
    gpu.gts.push_back(gt);
  }
}

void derive_interrupts(GpuScript& gpu) {
  if (gpu.suspended) return;
  gpu.interrupts = Course::from([&](std::size_t k) {
    double rate = 60;
    for (const EngineScript& engine : gpu.engines) rate += 900 * share_of(engine.busy, k);
    return rate;
  });
}

void derive_host(MachineScript& script) {
  HostScript& host = script.host;
  const auto cpu_share = [&](std::size_t k) {
    double cores = 0;
    for (const ProcessScript& process : script.processes) cores += share_of(process.cpu, k);
    return cores;
  };
  host.cores_microwatts = Course::from([&](std::size_t k) { return (2.1 + 5.5 * cpu_share(k)) * kMicro; });
  host.package_microwatts = host.cores_microwatts + Course(2'800'000);
  host.psys_microwatts = Course(9'400'000);
  double integrated_traffic = 0;
  for (const GpuScript& gpu : script.gpus) {
    if (gpu.model.kind == GpuKind::integrated) {
      host.package_microwatts += gpu.package_microwatts;
      integrated_traffic = 1;
    } else {
      host.psys_microwatts += gpu.card_microwatts;
    }
  }
  host.psys_microwatts += host.package_microwatts;
  host.temperature = Course::from([&](std::size_t k) {
    return std::floor(36 + 0.7 * static_cast<double>(host.package_microwatts.at_second(k)) / kMicro) * 1000;
  });
  const auto traffic = [&](double bytes_per_core, double bytes_per_engine) {
    return Course::from([&](std::size_t k) {
      double bytes = 45e6 + bytes_per_core * cpu_share(k);
      for (const GpuScript& gpu : script.gpus) {
        if (gpu.model.kind != GpuKind::integrated) continue;
        for (const EngineScript& engine : gpu.engines)
          bytes += integrated_traffic * bytes_per_engine * share_of(engine.busy, k);
      }
      return bytes / 64;
    });
  };
  // The scheduler loads some processors more than others.
  for (unsigned cpu = 0; cpu < host.cores; ++cpu) {
    const double weight = 1 + 0.4 * std::sin(2 * std::numbers::pi * cpu / host.cores);
    host.busy.push_back(Course::from(
        [&](std::size_t k) { return std::min(0.95, (0.01 + cpu_share(k) / host.cores) * weight) * kNanoseconds; }));
  }
  host.memory_read = traffic(380e6, 1.9e9);
  host.memory_written = traffic(160e6, 0.8e9);
}

void add_process(MachineScript& script, const ProcessData& data, std::uint64_t& next_client) {
  ProcessScript process;
  process.pid = data.pid;
  process.parent = data.parent;
  process.comm = data.comm;
  process.uid = data.uid;
  process.place = *data.place;
  process.restarts_container = data.restarts_container;
  process.life = Lifetime(std::chrono::seconds(data.started), std::chrono::seconds(data.lives));
  process.cpu = process.life.limit(Course(data.cpu_cores, kNanoseconds));
  process.read_bytes = process.life.limit(Course(data.read_mib, kMiB));
  process.written_bytes = process.life.limit(Course(data.written_mib, kMiB));
  process.resident_bytes = Course::of_pages({data.resident_mib, data.resident_mib / 50, 100}, kPage);
  process.virtual_bytes = static_cast<std::uint64_t>(data.virtual_mib * kMiB) / kPage * kPage;
  process.kernel_thread = data.kernel_thread;

  for (const ClientData& held : data.clients) {
    GpuScript& gpu = script.gpus[held.gpu];
    ClientScript client;
    client.first_id = next_client;
    next_client += 3;  // ids of programs that have exited
    client.gpu = held.gpu;
    client.pid = data.pid;
    client.open = process.life.within(data.lives > 0 ? kSecond : 2 * kSecond, {});
    // What a short job has done is still to be read in its last second.
    const Lifetime at_work = client.open.within({}, data.lives > 0 ? kSecond : ScriptTime{});
    client.descriptors = held.descriptors;
    client.passed_on = held.passed_on;
    client.on_card_node = held.on_card_node;
    client.local_bytes = client.open.limit(Course::of_pages(held.vram_mib, kVramPage));
    client.system_bytes = client.open.limit(Course::of_pages(held.system_mib, kPage));
    if (held.video_jobs > 0) script.channels.push_back({data.pid, held.gpu, at_work.limit(channel(held.video_jobs))});
    for (const EngineLoad& load : held.loads) {
      const auto index = static_cast<std::size_t>(gpu.engine(load.engine) - gpu.engines.data());
      const Course share(load.share, kNanoseconds);
      const bool stalls = held.video_jobs > 0 && gpu.engines[index].model.engine_class == EngineClass::video;
      const Course course = at_work.limit(stalls ? unless_stalled(share) : share);
      gpu.engines[index].busy += course;
      client.engines.emplace_back(index, course);
    }
    gpu.vram_used += client.local_bytes;
    script.clients.push_back(std::move(client));
  }
  script.processes.push_back(std::move(process));
}

}  // namespace

MachineScript build_script(const ProfileData& data) {
  MachineScript script;
  script.uptime = kUptime;
  script.privileged = data.privileged;
  script.hangs = data.hangs;
  script.reader_uid = data.privileged ? 0 : 997;
  script.users = {{0, "root"},     {1000, "anna"},      {1001, "stream"}, {997, "intel-gpu-exporter"},
                  {998, "render"}, {105, "messagebus"}, {996, "jellyfin"}};
  script.host = data.host;
  script.npus = data.npus;

  for (const GpuData& plugged : data.gpus) {
    GpuScript gpu = plugged.script;
    add_engines(gpu);
    add_functions(gpu, plugged);
    if (gpu.model.vram_bytes > 0) gpu.vram_used = Course(std::uint64_t{184} * 1024 * 1024);  // rings, page tables
    script.gpus.push_back(std::move(gpu));
  }
  std::uint64_t next_client = 17;
  for (const ProcessData& process : data.processes) add_process(script, process, next_client);
  std::ranges::sort(script.processes, {}, &ProcessScript::pid);

  for (GpuScript& gpu : script.gpus) {
    derive_waits(gpu);
    derive_power(gpu);
    derive_gts(gpu);
    derive_interrupts(gpu);
  }
  derive_host(script);
  return script;
}

}  // namespace igpu::simulation
