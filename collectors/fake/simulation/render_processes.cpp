// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "fake/simulation/simulated_parts.h"

// fs/proc/array.c, fs/proc/fd.c, Documentation/gpu/drm-usage-stats.rst, drivers/gpu/drm/i915/i915_drm_client.c,
// drivers/gpu/drm/xe/xe_drm_client.c
namespace igpu::simulation {

namespace {

constexpr std::uint64_t kPageSize = 4096;
constexpr std::int64_t kTick = 10'000'000;  // ns: USER_HZ is 100

// drm_print_memory_stats(): the largest exact unit up to MiB; 0 has no unit.
void put_size(Text& out, std::string_view kind, std::string_view region, std::uint64_t bytes) {
  constexpr std::array<std::string_view, 3> kUnits{"", " KiB", " MiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  out << "drm-" << kind << '-' << region << ":\t" << bytes << kUnits[unit] << '\n';
}

void put_memory(Text& out, std::string_view region, const MemoryUse& use, bool purgeable) {
  put_size(out, "total", region, use.total);
  put_size(out, "shared", region, use.shared);
  put_size(out, "active", region, use.active);
  put_size(out, "resident", region, use.resident);
  if (purgeable) put_size(out, "purgeable", region, use.purgeable);
}

unsigned engines_of_class(const GpuScript& gpu, EngineClass engine_class) {
  return static_cast<unsigned>(
      std::ranges::count_if(gpu.engines, [&](const EngineScript& e) { return e.model.engine_class == engine_class; }));
}

void put_i915(Text& out, const GpuScript& gpu, const ClientScript& client, ScriptTime now) {
  put_memory(out, "system0", client.system_memory(now), true);
  if (gpu.model.vram_bytes > 0) {
    put_memory(out, "local0", client.local_memory(now), true);
    put_memory(out, "stolen-local0", {}, true);
  } else {
    put_memory(out, "stolen-system0", {}, true);
  }
  for (const EngineClassNames& names : kEngineClassNames) {
    const unsigned capacity = engines_of_class(gpu, names.engine_class);
    if (capacity == 0) continue;
    out << "drm-engine-" << names.fdinfo_name << ":\t" << client.engine_nanoseconds(gpu, names.engine_class, now)
        << " ns\n";
    if (capacity > 1) out << "drm-engine-capacity-" << names.fdinfo_name << ":\t" << capacity << '\n';
  }
}

void put_xe(Text& out, const GpuScript& gpu, const ClientScript& client, ScriptTime now) {
  put_memory(out, "system", {}, true);
  put_memory(out, "gtt", client.system_memory(now), false);
  put_memory(out, "vram0", client.local_memory(now), false);
  put_memory(out, "stolen", {}, false);
  const std::uint64_t timestamp = gpu_ticks(static_cast<std::uint64_t>(now.count()));
  for (const EngineClassNames& names : kEngineClassNames) {
    const unsigned capacity = engines_of_class(gpu, names.engine_class);
    if (capacity == 0) continue;
    out << "drm-cycles-" << names.short_name << ":\t"
        << gpu_ticks(client.engine_nanoseconds(gpu, names.engine_class, now)) << '\n';
    out << "drm-total-cycles-" << names.short_name << ":\t" << timestamp << '\n';
    if (capacity > 1) out << "drm-engine-capacity-" << names.short_name << ":\t" << capacity << '\n';
  }
}

class ProcRenderer {
 public:
  ProcRenderer(Tree& proc, const World& world) : proc_(proc), world_(world), script_(world.script) {}

  void process(const ProcessScript& process) {
    const std::string path = std::to_string(process.pid) + "/";
    Node& directory = proc_.directory(std::to_string(process.pid));
    directory.uid = process.uid;
    directory.life = process.life;
    proc_.file(path + "comm", process.comm.substr(0, 15) + "\n", 0644);
    proc_.file(path + "cgroup", [&process](Text& out, ScriptTime now) { out << "0::" << process.cgroup(now) << '\n'; });
    proc_.file(path + "stat",
               [&script = script_, &process](Text& out, ScriptTime now) { put_stat(out, script, process, now); });
    proc_.file(
        path + "io", [&script = script_, &process](Text& out, ScriptTime now) { put_io(out, script, process, now); },
        0400);
    proc_.file(path + "task/" + std::to_string(process.pid) + "/children",
               [&script = script_, &process](Text& out, ScriptTime now) { put_children(out, script, process, now); });
    proc_.file(path + "status", [&process](Text& out, ScriptTime) { put_status(out, process); });
    // Both need ptrace access to the process; fd/ also needs the owner's read bit.
    Node& fd = proc_.directory(path + "fd");
    Node& fdinfo = proc_.directory(path + "fdinfo");
    fd.permissions = 0500;
    fd.inode = 0;  // unknown: descriptors of a simulated process may change without any other sign
    if (!process.kernel_thread) {
      descriptor(process.pid, 0, "/dev/null", "");
      descriptor(process.pid, 1, "socket:[20311]", "");
      descriptor(process.pid, 2, "socket:[20311]", "");
      descriptor(process.pid, 4, "anon_inode:[eventpoll]",
                 "tfd:        5 events:       19 data:                5  pos:0 ino:40c sdev:f\n");
      descriptor(process.pid, 5, "anon_inode:[eventfd]", "eventfd-count:                0\neventfd-id: 12\n");
    }
    if (!script_.privileged && process.uid != script_.reader_uid) fd.error = fdinfo.error = kEacces;
  }

  void client(const ClientScript& client) {
    const GpuScript& gpu = script_.gpus[client.gpu];
    const std::string node = "/dev/dri/" + (client.on_card_node ? gpu.card_name() : gpu.render_name());
    const auto hold = [&](std::uint32_t pid, std::uint32_t number) {
      const std::string where = std::to_string(pid) + "/";
      proc_.link(where + "fd/" + std::to_string(number), node).life = client.open;
      Node& file = proc_.file(where + "fdinfo/" + std::to_string(number),
                              [&gpu, &client](Text& out, ScriptTime now) { put_client(out, gpu, client, now); });
      file.life = client.open;
      if (gpu.model.driver == Driver::xe) file.wakes = &world_.power[client.gpu];
    };
    for (const std::uint32_t number : client.descriptors) hold(client.pid, number);
    for (const auto& [pid, number] : client.passed_on) hold(pid, number);
  }

  // The files by which a virtual machine has a virtual function.
  void function(const GpuScript& gpu, const FunctionScript& function) {
    if (function.holder == 0) return;
    descriptor(function.holder, 27, "/dev/vfio/vfio", "");
    descriptor(function.holder, 28, "/dev/vfio/" + std::to_string(gpu.group_of(function)), "");
    descriptor(function.holder, 29, "anon_inode:[vfio-device]",
               "vfio-device-syspath: /sys/" + gpu.path_of(function) + "\n");
  }

 private:
  static constexpr int kEacces = 13;

  void descriptor(std::uint32_t pid, std::uint32_t number, std::string target, const std::string& more) {
    const std::string where = std::to_string(pid) + "/";
    proc_.link(where + "fd/" + std::to_string(number), std::move(target));
    proc_.file(where + "fdinfo/" + std::to_string(number),
               "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t" + std::to_string(1040 + number) + "\n" + more);
  }

  static void put_client(Text& out, const GpuScript& gpu, const ClientScript& client, ScriptTime now) {
    out << "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t" << 400 + gpu.render_minor << '\n';
    out << "drm-driver:\t" << to_string(gpu.model.driver) << "\ndrm-client-id:\t" << client.id(now) << "\ndrm-pdev:\t"
        << gpu.address << '\n';
    if (gpu.model.driver == Driver::i915) {
      put_i915(out, gpu, client, now);
    } else {
      put_xe(out, gpu, client, now);
    }
  }

  // What a process has used.
  struct Use {
    std::int64_t user = 0, system = 0;  // ticks
    std::uint64_t read = 0, written = 0;
    std::uint64_t faults = 0;
  };
  static Use use_since_begin(const ProcessScript& process, ScriptTime now) {
    const auto since = [&](const Course& course) {
      return course.integral(now) - course.integral(std::min(now, process.life.began(now)));
    };
    const auto ticks = static_cast<std::int64_t>(since(process.cpu)) / kTick;
    const std::int64_t user = ticks * 7 / 10;
    return {user, ticks - user, since(process.read_bytes), since(process.written_bytes), 48211};
  }
  // What its children that have ended used: it has waited for each of them. They have no children.
  static Use use_of_ended(const MachineScript& script, const ProcessScript& process, ScriptTime now) {
    Use sum;
    for (const ProcessScript& child : script.processes) {
      if (child.parent != process.pid || !child.life.recurs()) continue;
      const std::uint64_t count = child.life.ended(now) - child.life.ended(process.life.began(now));
      const Use use = use_since_begin(child, child.life.began(now) + child.life.length());
      sum.user += static_cast<std::int64_t>(count) * use.user;
      sum.system += static_cast<std::int64_t>(count) * use.system;
      sum.read += count * use.read;
      sum.written += count * use.written;
      sum.faults += count * use.faults;
    }
    return sum;
  }

  static void put_children(Text& out, const MachineScript& script, const ProcessScript& process, ScriptTime now) {
    for (const ProcessScript& child : script.processes)
      if (child.parent == process.pid && child.life.exists(now)) out << child.pid << ' ';
  }

  // fs/proc/base.c. The bytes include those of children that it has waited for.
  static void put_io(Text& out, const MachineScript& script, const ProcessScript& process, ScriptTime now) {
    const Use own = use_since_begin(process, now);
    const Use ended = use_of_ended(script, process, now);
    const std::uint64_t read = own.read + ended.read;
    const std::uint64_t written = own.written + ended.written;
    out << "rchar: " << read + 71'204 << "\nwchar: " << written + 3'310 << "\nsyscr: " << read / 65536 + 40
        << "\nsyscw: " << written / 65536 + 9 << "\nread_bytes: " << read << "\nwrite_bytes: " << written
        << "\ncancelled_write_bytes: 0\n";
  }

  static void put_stat(Text& out, const MachineScript& script, const ProcessScript& process, ScriptTime now) {
    const Use own = use_since_begin(process, now);
    const Use ended = use_of_ended(script, process, now);
    out << process.pid << " (" << std::string_view(process.comm).substr(0, 15) << ") "
        << (process.kernel_thread ? 'I' : 'S') << ' ' << process.parent << ' ' << process.pid << ' ' << process.pid
        << " 0 -1 " << (process.kernel_thread ? 69238880 : 4194560) << ' ' << own.faults << ' ' << ended.faults
        << " 12 0 ";
    out << own.user << ' ' << own.system << ' ' << ended.user << ' ' << ended.system << " 20 0 "
        << (process.kernel_thread ? 1 : 14) << " 0 " << process.life.began(now).count() / kTick << ' '
        << process.virtual_bytes << ' ' << process.resident_bytes.value(now) / kPageSize
        << " 18446744073709551615 1 1 0 0 0 0 0 4096 16384 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  }

  // Its beginning, up to the users; the rest is not read.
  static void put_status(Text& out, const ProcessScript& process) {
    out << "Name:\t" << std::string_view(process.comm).substr(0, 15) << "\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t"
        << process.pid << "\nNgid:\t0\nPid:\t" << process.pid << "\nPPid:\t" << process.parent << "\nTracerPid:\t0\n";
    for (const char* key : {"Uid", "Gid"}) {
      out << key << ':';
      for (int i = 0; i < 4; ++i) out << '\t' << process.uid;
      out << '\n';
    }
  }

  Tree& proc_;
  const World& world_;
  const MachineScript& script_;
};

// Time of some processors by mode, ns per second.
struct ProcessorModes {
  Course user, system, idle, iowait, softirq;

  ProcessorModes(const Course& busy, std::uint64_t count) : iowait(count * kWait) {
    const auto share = [&](std::uint64_t percent) {
      return Course::from([&](std::size_t k) { return busy.at_second(k) * percent / 100; });
    };
    user = share(66);
    system = share(28);
    softirq = share(6);
    idle = Course::from([&](std::size_t k) { return count * (1'000'000'000 - kWait) - busy.at_second(k); });
  }
  // In ticks: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
  void put(Text& out, ScriptTime now) const {
    const auto ticks = [&](const Course& course) { return course.integral(now) / static_cast<std::uint64_t>(kTick); };
    out << ' ' << ticks(user) << " 0 " << ticks(system) << ' ' << ticks(idle) << ' ' << ticks(iowait) << " 0 "
        << ticks(softirq) << " 0 0 0\n";
  }

 private:
  static constexpr std::uint64_t kWait = 2'000'000;
};

// fs/proc/stat.c
void render_host_stat(Tree& proc, const MachineScript& script) {
  Course all;
  std::vector<ProcessorModes> each;
  for (const Course& busy : script.host.busy) {
    all += busy;
    each.emplace_back(busy, 1);
  }
  const ProcessorModes sum(all, script.host.busy.size());
  const std::string booted = std::to_string(script.host.booted.count());
  proc.file("stat", [sum, each = std::move(each), booted](Text& out, ScriptTime now) {
    out << "cpu ";
    sum.put(out, now);
    for (std::size_t cpu = 0; cpu < each.size(); ++cpu) {
      out << "cpu" << cpu;
      each[cpu].put(out, now);
    }
    out << "ctxt 918273645\nbtime " << booted << "\nprocesses 48214\nprocs_running 2\nprocs_blocked 0\n";
  });
}

}  // namespace

void render_root(Tree& root, const MachineScript& script) {
  for (const ProcessScript& process : script.processes) {
    const PlaceScript& place = process.place;
    if (!place.pod.empty())
      root.directory("var/log/pods/" + place.name_space + "_" + place.pod + "_" + place.pod_uid + "/" +
                     place.container);
    else if (!place.container_id.empty())
      root.file("var/lib/docker/containers/" + place.container_id + "/config.v2.json",
                "{\"ID\":\"" + place.container_id + "\",\"Name\":\"/" + place.container + "\"}", 0600);
  }
}

void render_processes(Tree& proc, const World& world) {
  const MachineScript& script = world.script;
  proc.file("sys/kernel/perf_event_paranoid", std::to_string(script.host.perf_event_paranoid) + "\n", 0644);
  proc.file("sys/kernel/osrelease", "6.17.9-amd64\n");

  render_host_stat(proc, script);

  ProcRenderer renderer(proc, world);
  for (const ProcessScript& process : script.processes) renderer.process(process);
  for (const ClientScript& client : script.clients) renderer.client(client);
  for (const GpuScript& gpu : script.gpus)
    for (const FunctionScript& function : gpu.functions) renderer.function(gpu, function);

  const std::string self = std::to_string(script.processes.back().pid);
  proc.link("self", self);
  proc.link("mounts", "self/mounts");
  proc.file(self + "/mounts", "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n");
  proc.file(self + "/mountinfo", "24 31 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:13 - proc proc rw\n");
}

}  // namespace igpu::simulation
