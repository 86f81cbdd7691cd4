// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/profiles.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/scan.h"

namespace igpu::simulation {

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr EngineClass kRender = EngineClass::render;
constexpr EngineClass kCopy = EngineClass::copy;
constexpr EngineClass kVideo = EngineClass::video;
constexpr EngineClass kEnhance = EngineClass::video_enhance;
constexpr EngineClass kCompute = EngineClass::compute;

// ---- hardware ----
// Watts and clocks are typical of these parts; device ids and names are those of the PCI id list.

const GpuModel kTigerLake{
    .name = "TigerLake-LP GT2 [Iris Xe Graphics]",
    .driver = Driver::i915,
    .kind = GpuKind::integrated,
    .device_id = 0x9a49,
    .revision = 0x01,
    .subsystem_vendor = 0x8086,
    .subsystem_device = 0x3004,
    .engines = {{kRender, 0, 0}, {kCopy, 0, 0}, {kVideo, 0, 0}, {kVideo, 1, 0}, {kEnhance, 0, 0}},
    .gts = {{100, 400, 1350}},
    .idle_watts = 0.4,
    .busy_watts = {9.5, 1.2, 2.6, 1.4, 0},
};

const GpuModel kAlderLakeS{
    .name = "AlderLake-S GT1",
    .driver = Driver::i915,
    .kind = GpuKind::integrated,
    .device_id = 0x4680,
    .revision = 0x0c,
    .subsystem_vendor = 0x1043,
    .subsystem_device = 0x8882,
    .engines = {{kRender, 0, 0}, {kCopy, 0, 0}, {kVideo, 0, 0}, {kVideo, 1, 0}, {kEnhance, 0, 0}},
    .gts = {{300, 700, 1550}},
    .idle_watts = 0.5,
    .busy_watts = {12.0, 1.4, 3.1, 1.6, 0},
};

const GpuModel kArcA770{
    .name = "DG2 [Arc A770]",
    .driver = Driver::i915,
    .kind = GpuKind::discrete,
    .device_id = 0x56a0,
    .revision = 0x08,
    .subsystem_vendor = 0x8086,
    .subsystem_device = 0x1020,
    .engines = {{kRender, 0, 0},
                {kCopy, 0, 0},
                {kVideo, 0, 0},
                {kVideo, 1, 0},
                {kEnhance, 0, 0},
                {kEnhance, 1, 0},
                {kCompute, 0, 0}},
    .gts = {{300, 600, 2400}},
    .vram_bytes = 16 * kGiB,
    .idle_watts = 38,
    .busy_watts = {88, 9, 11, 6, 104},
    .power_limit_watts = 190,
    .card_lanes = 16,
    .link_gigatransfers = 16,
};

const GpuModel kBattlemage{
    .name = "Battlemage G21 [Arc B580]",
    .driver = Driver::xe,
    .kind = GpuKind::discrete,
    .device_id = 0xe20b,
    .revision = 0x00,
    .subsystem_vendor = 0x8086,
    .subsystem_device = 0x1100,
    .engines = {{kRender, 0, 0},
                {kCopy, 0, 0},
                {kCompute, 0, 0},
                {kVideo, 0, 1},
                {kVideo, 1, 1},
                {kEnhance, 0, 1},
                {kEnhance, 1, 1}},
    .gts = {{400, 1400, 2850}, {400, 800, 1500, true}},
    .vram_bytes = 12 * kGiB,
    .idle_watts = 19,
    .busy_watts = {88, 7, 9, 5, 96},
    .power_limit_watts = 190,
    .card_lanes = 8,
    .link_gigatransfers = 16,
};

const GpuModel kArcProB60{
    .name = "Battlemage G21 [Arc Pro B60]",
    .driver = Driver::xe,
    .kind = GpuKind::discrete,
    .device_id = 0xe211,
    .revision = 0x00,
    .subsystem_vendor = 0x8086,
    .subsystem_device = 0x1114,
    .engines = kBattlemage.engines,
    .gts = {{400, 1400, 2400}, {400, 800, 1500, true}},
    .vram_bytes = 24 * kGiB,
    .idle_watts = 21,
    .busy_watts = {82, 7, 9, 5, 90},
    .power_limit_watts = 200,
    .card_lanes = 8,
    .link_gigatransfers = 16,
};

// ---- cgroups ----

PlaceScript in_unit(const std::string& cgroup) { return {cgroup, "", "", std::string(last_part(cgroup))}; }

PlaceScript in_pod(const std::string& slice, const std::string& uid, const std::string& container_id,
                   const std::string& name_space, const std::string& pod, const std::string& container) {
  std::string name = slice + "-pod" + uid;
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(slice.size() + 1), name.end(), '-', '_');
  const std::string parent = slice == "kubepods" ? "" : slice + ".slice/";
  const std::string scope = "cri-containerd-" + container_id + ".scope";
  return {"/kubepods.slice/" + parent + name + ".slice/" + scope, container_id, uid, scope, name_space, pod, container};
}

PlaceScript in_docker(const std::string& container_id, const std::string& container) {
  const std::string scope = "docker-" + container_id + ".scope";
  return {"/system.slice/" + scope, container_id, "", scope, "", "", container};
}

// libvirt's scope of a virtual machine; systemd escapes "-".
PlaceScript in_machine(unsigned number, const std::string& name) {
  const std::string scope = "machine-qemu\\x2d" + std::to_string(number) + "\\x2d" + name + ".scope";
  return {"/machine.slice/" + scope + "/libvirt/emulator", "", "", scope, "", "", name};
}

const PlaceScript kKernel{"/"};
const PlaceScript kInit = in_unit("/init.scope");
const PlaceScript kSsh = in_unit("/system.slice/ssh.service");
const PlaceScript kExporter = in_unit("/system.slice/intel-gpu-exporter.service");
const PlaceScript kDesktop =
    in_unit("/user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service");
const PlaceScript kApp =
    in_unit("/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-com.obsproject.Studio-4711.scope");
const PlaceScript kShell = in_unit("/user.slice/user-1000.slice/session-2.scope");
const std::array<PlaceScript, 4> kBroadcast{
    in_unit("/system.slice/system-broadcast.slice/broadcast@main.service"),
    in_unit("/system.slice/system-broadcast.slice/broadcast@ladder.service"),
    in_unit("/system.slice/system-broadcast.slice/broadcast@sport.service"),
    in_unit("/system.slice/system-broadcast.slice/broadcast@preview.service"),
};
const PlaceScript kInference = in_unit("/system.slice/llama-server.service");
const PlaceScript kPackager = in_unit("/system.slice/system-packager.slice/packager@news.service");
const PlaceScript kCompositor = in_unit("/system.slice/control-room.service");
const PlaceScript kRemote = in_unit("/system.slice/wayvnc.service");
const PlaceScript kJellyfin = in_docker("4be1a0c73f9d52e86b04cd17a9f3582e60d1b7c4983fa265e07d9b1c58f2e346", "jellyfin");
const PlaceScript kRecorder =
    in_pod("kubepods-besteffort", "c41e6f88-2d5b-47a0-9c63-5be0a9d7143f",
           "3fb85d06c9e14a72b1d80e6f2c957a43dd61084ef7b92ca5360e18bd00000000", "live", "recorder-0", "recorder");
const PlaceScript kIngest = in_pod("kubepods-burstable", "7c0f4a52-91d3-4e68-b5a7-20c8f6e1d93b",
                                   "d27f60b91e4c83a5f2076e9db8143ca7550e2f1986cb3d74a08ef52b9c61d738", "live",
                                   "ingest-6d9fb7c58-q4xzt", "ingest");
const PlaceScript kVision =
    in_pod("kubepods", "2e9b7d04-6a1f-4c35-8e02-f7d1b3c5a849",
           "901ac3e57fb2d4680e9f35c1a8d7264b03fe9ad1285c7b60e4d3f1987ab20c5d", "vision", "detector-0", "detector");

const std::array<PlaceScript, 3> kMachines{in_machine(1, "news"), in_machine(2, "sport"), in_machine(3, "inference")};

constexpr std::uint32_t kRootUser = 0;
constexpr std::uint32_t kAnna = 1000;
constexpr std::uint32_t kStream = 1001;
constexpr std::uint32_t kExporterUser = 997;

ProcessData& add_process(ProfileData& data, std::uint32_t pid, const char* comm, std::uint32_t uid,
                         const PlaceScript& place, unsigned started, Wave cpu_cores, double resident_mib,
                         double virtual_mib, std::vector<ClientData> clients = {}) {
  return data.processes.emplace_back(ProcessData{.pid = pid,
                                                 .comm = comm,
                                                 .uid = uid,
                                                 .place = &place,
                                                 .started = started,
                                                 .cpu_cores = cpu_cores,
                                                 .resident_mib = resident_mib,
                                                 .virtual_mib = virtual_mib,
                                                 .clients = std::move(clients)});
}

// What a shell script starts for a channel: an encoder, a packager, and a thumbnail now and then, three seconds of
// work.
void add_packager(ProfileData& data) {
  const auto add_process = [&](ProcessData process) {
    process.uid = kStream;
    process.place = &kPackager;
    process.virtual_mib = 80 + 8 * process.resident_mib;
    data.processes.push_back(std::move(process));
  };
  constexpr std::uint32_t kScript = 9001;
  add_process({.pid = kScript, .comm = "packager.sh", .started = 2'000, .cpu_cores = {0.01}, .resident_mib = 3});
  add_process({.pid = 9002,
               .comm = "ffmpeg",
               .started = 2'001,
               .cpu_cores = {0.3, 0.05, 60},
               .resident_mib = 230,
               .clients = {{.gpu = 0,
                            .loads = {{"vcs0", {0.2, 0.05, 60}}, {"vecs0", {0.12, 0.03, 60}}},
                            .system_mib = {260, 20, 60}}},
               .parent = kScript,
               .read_mib = {0.2}});
  add_process({.pid = 9003,
               .comm = "packager",
               .started = 2'001,
               .cpu_cores = {0.08, 0.03, 30},
               .resident_mib = 60,
               .parent = kScript,
               .written_mib = {3.2, 0.8, 60}});
  for (std::uint32_t job = 0; job < 7; ++job) {
    add_process({.pid = 9011 + job,
                 .comm = "ffmpeg",
                 .started = 2'112 + 43 * job,
                 .cpu_cores = {0.6},
                 .resident_mib = 90,
                 .clients = {{.gpu = 0, .loads = {{"vcs1", {0.28}}}, .system_mib = {64}}},
                 .parent = kScript,
                 .lives = 5,
                 .written_mib = {0.5}});
  }
}

// Processes of every profile that use no GPU.
void add_system(ProfileData& data) {
  add_process(data, 1, "systemd", kRootUser, kInit, 0, {0.002}, 13, 168).parent = 0;
  const auto kernel_thread = [&](std::uint32_t pid, const char* comm, unsigned started, Wave cpu,
                                 std::uint32_t parent) {
    ProcessData& process = add_process(data, pid, comm, kRootUser, kKernel, started, cpu, 0, 0);
    process.parent = parent;
    process.kernel_thread = true;
  };
  kernel_thread(2, "kthreadd", 0, {}, 0);
  kernel_thread(87, "kworker/u16:1-i915", 1, {0.001}, 2);
  add_process(data, 731, "sshd", kRootUser, kSsh, 9, {0.0005}, 9, 15);
  add_process(data, 48213, "intel-gpu-expor", data.privileged ? kRootUser : kExporterUser, kExporter, 41'200, {0.003},
              8, 90);
}

GpuData integrated(const GpuModel& model, unsigned card, unsigned render_minor) {
  return {{.model = model, .address = "0000:00:02.0", .card = card, .render_minor = render_minor, .hwmon = 2}};
}

// A card behind its own PCIe switch: slot, upstream port, downstream port.
GpuData in_slot(const GpuModel& model, std::string slot, unsigned bus, unsigned card, unsigned render_minor,
                unsigned hwmon) {
  const auto address = [](unsigned number, std::string_view rest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    return std::string("0000:") + kDigits[number / 16] + kDigits[number % 16] + ":" + std::string(rest);
  };
  GpuData gpu{{.model = model,
               .address = address(bus + 2, "00.0"),
               .bridges = {std::move(slot), address(bus, "00.0"), address(bus + 1, "01.0")},
               .card = card,
               .render_minor = render_minor,
               .hwmon = hwmon}};
  gpu.script.model.slot_lanes = model.card_lanes;
  return gpu;
}

NpuScript npu(std::string_view name, std::uint16_t device_id, unsigned max_megahertz, const Wave& busy,
              const Wave& memory_mib) {
  return {name, device_id, "0000:00:0b.0", max_megahertz, Course(busy, 1e9), Course::of_pages(memory_mib, 4096)};
}

ProfileData tgl_broadcast() {
  ProfileData data;
  data.gpus = {integrated(kTigerLake, 0, 128)};
  add_system(data);
  const auto transcode = [&](std::uint32_t pid, std::size_t unit, unsigned started, std::vector<EngineLoad> loads,
                             double mib, Wave cpu) {
    add_process(data, pid, "ffmpeg", kStream, kBroadcast[unit], started, cpu, 180 + mib / 4, 2900 + mib,
                {{.gpu = 0, .loads = std::move(loads), .system_mib = {mib, mib / 12, 50}}});
  };
  transcode(2211, 0, 31, {{"vcs0", {0.34, 0.06, 20}}, {"vecs0", {0.21, 0.04, 20, 0.1}}, {"rcs0", {0.03, 0.01, 15}}},
            412, {0.22, 0.04, 30});
  transcode(2212, 1, 33,
            {{"vcs0", {0.19, 0.05, 30, 0.4}}, {"vcs1", {0.13, 0.03, 60}}, {"vecs0", {0.15, 0.05, 30, 0.5}}}, 655,
            {0.31, 0.06, 60});
  transcode(2213, 2, 2'740, {{"vcs1", {0.29, 0.09, 75, 0.2}}, {"vecs0", {0.09, 0.03, 25}}, {"rcs0", {0.07, 0.03, 50}}},
            388, {0.18, 0.05, 75});
  transcode(2214, 3, 18'022, {{"vcs1", {0.07, 0.05, 100}}, {"vecs0", {0.03, 0.01, 100}}}, 96, {0.05, 0.02, 100});
  return data;
}

ProfileData arc_a770() {
  ProfileData data;
  data.gpus = {in_slot(kArcA770, "0000:00:01.0", 1, 1, 128, 3)};
  data.host.has_psys = false;
  add_system(data);
  add_process(data, 1904, "gnome-shell", kAnna, kDesktop, 44, {0.04, 0.02, 30}, 310, 4900,
              {{.gpu = 0,
                .loads = {{"rcs0", {0.05, 0.03, 20}}, {"bcs0", {0.01, 0.005, 25}}},
                .vram_mib = {286, 20, 60},
                .system_mib = {52},
                .descriptors = {14, 15},
                .passed_on = {{4711, 22}},
                .on_card_node = true}});
  add_process(data, 4711, "obs", kAnna, kApp, 5'310, {0.55, 0.1, 60}, 640, 6100,
              {{.gpu = 0,
                .loads = {{"rcs0", {0.27, 0.09, 60}}, {"vcs0", {0.23, 0.06, 30}}, {"vecs0", {0.08, 0.02, 30}}},
                .vram_mib = {1240, 90, 100},
                .system_mib = {210, 10, 50},
                .descriptors = {31}}});
  add_process(data, 6120, "ffmpeg", kAnna, kShell, 12'604, {0.3, 0.1, 50}, 290, 3300,
              {{.gpu = 0,
                .loads = {{"vcs0", {0.21, 0.08, 50}},
                          {"vcs1", {0.46, 0.15, 75}},
                          {"vecs1", {0.19, 0.07, 50}},
                          {"bcs0", {0.06, 0.02, 20}}},
                .vram_mib = {780, 60, 75},
                .system_mib = {120},
                .descriptors = {9}}});
  add_process(data, 7033, "python3", kAnna, kShell, 20'118, {0.9, 0.15, 100}, 2210, 15'800,
              {{.gpu = 0,
                .loads = {{"ccs0", {0.68, 0.24, 150}}, {"bcs0", {0.09, 0.04, 150}}},
                .vram_mib = {6310, 900, 150},
                .system_mib = {340, 30, 150},
                .descriptors = {12}}});
  return data;
}

ProfileData battlemage() {
  ProfileData data;
  data.gpus = {in_slot(kBattlemage, "0000:00:01.0", 1, 1, 128, 3)};
  data.host.has_psys = false;
  add_system(data);
  add_process(data, 1877, "gnome-shell", kAnna, kDesktop, 41, {0.03, 0.01, 30}, 295, 4800,
              {{.gpu = 0,
                .loads = {{"rcs0", {0.04, 0.02, 20}}},
                .vram_mib = {240, 15, 60},
                .system_mib = {46},
                .descriptors = {14},
                .on_card_node = true}});
  add_process(data, 3350, "llama-server", kAnna, kInference, 1'802, {0.4, 0.2, 100}, 1480, 21'000,
              {{.gpu = 0,
                .loads = {{"ccs0", {0.62, 0.3, 100}}, {"bcs0", {0.03, 0.02, 100}}},
                .vram_mib = {7040, 128, 100},
                .system_mib = {96},
                .descriptors = {7, 8}}});
  add_process(data, 5206, "gst-launch-1.0", kStream, kBroadcast[0], 7'066, {0.25, 0.05, 50}, 260, 2700,
              {{.gpu = 0,
                .loads = {{"vcs0", {0.37, 0.11, 50}}, {"vecs0", {0.24, 0.08, 50}}, {"rcs0", {0.11, 0.04, 30}}},
                .vram_mib = {512, 40, 50},
                .system_mib = {88, 8, 60}}});
  add_process(data, 5390, "ffmpeg", kStream, kBroadcast[1], 30'240, {0.2, 0.08, 75}, 240, 3000,
              {{.gpu = 0,
                .loads = {{"vcs1", {0.28, 0.12, 75}}, {"vecs1", {0.07, 0.03, 75}}},
                .vram_mib = {380, 25, 75},
                .system_mib = {64}}});
  return data;
}

ProfileData rack() {
  ProfileData data;
  data.gpus = {integrated(kAlderLakeS, 1, 128), in_slot(kArcA770, "0000:00:01.0", 1, 2, 129, 4),
               in_slot(kBattlemage, "0000:00:1c.0", 5, 3, 130, 5)};
  data.gpus[2].script.model.slot_lanes = 4;  // an x8 card in an x4 slot
  data.host.cores = 16;
  data.host.has_bmc_display = true;
  add_system(data);
  const auto run = [&](std::uint32_t pid, const char* comm, const PlaceScript& place, std::uint32_t uid,
                       unsigned started, Wave cpu, double mib, std::vector<ClientData> clients) {
    ProcessData& process =
        add_process(data, pid, comm, uid, place, started, cpu, mib, 2600 + 3 * mib, std::move(clients));
    process.read_mib = {2 * cpu.mean};
    process.written_mib = {cpu.mean};
  };
  // Jellyfin's transcodes, on the integrated GPU and the first card.
  run(3101, "ffmpeg", kJellyfin, kStream, 640, {0.21, 0.05, 30}, 260,
      {{.gpu = 0,
        .loads = {{"vcs0", {0.33, 0.07, 30}}, {"vecs0", {0.17, 0.04, 30}}, {"rcs0", {0.05, 0.02, 50}}},
        .system_mib = {410, 30, 50}}});
  run(3102, "ffmpeg", kJellyfin, kStream, 9'412, {0.17, 0.04, 50}, 240,
      {{.gpu = 0, .loads = {{"vcs1", {0.24, 0.1, 75}}, {"vecs0", {0.11, 0.05, 75}}}, .system_mib = {300, 25, 60}}});
  run(3103, "ffmpeg", kJellyfin, kStream, 22'100, {0.24, 0.08, 60}, 300,
      {{.gpu = 1,
        .loads = {{"vcs0", {0.41, 0.12, 60}}, {"vecs0", {0.22, 0.06, 60}}},
        .vram_mib = {620, 40, 60},
        .system_mib = {90},
        .descriptors = {9, 11}}});
  // Live ingest in a pod, at constant rates: one pipeline decodes 25 pictures a second on the integrated GPU and
  // encodes each of them three times on a card, another one decodes 25 frames in field pictures.
  run(5120, "gst-launch-1.0", kIngest, kRootUser, 1'203, {0.35, 0.07, 100}, 340,
      {{.gpu = 0,
        .loads = {{"vcs1", {0.18, 0.05, 100}}},
        .system_mib = {160, 10, 50},
        .video_jobs = 25,
        .descriptors = {10}},
       {.gpu = 1,
        .loads = {{"vcs1", {0.38, 0.1, 100}}, {"vecs1", {0.13, 0.04, 100}}},
        .vram_mib = {450, 30, 100},
        .system_mib = {70},
        .video_jobs = 75,
        .descriptors = {12}}});
  run(5121, "gst-launch-1.0", kIngest, kRootUser, 1'204, {0.28, 0.06, 75}, 310,
      {{.gpu = 2,
        .loads = {{"vcs0", {0.36, 0.09, 75}}, {"vecs0", {0.2, 0.05, 75}}},
        .vram_mib = {480, 32, 75},
        .system_mib = {80},
        .video_jobs = 50,
        .passed_on = {{5122, 17}}}});
  run(5122, "gst-launch-1.0", kIngest, kRootUser, 1'206, {0.26, 0.06, 60}, 290,
      {{.gpu = 2,
        .loads = {{"vcs1", {0.27, 0.08, 60}}, {"rcs0", {0.14, 0.04, 30}}},
        .vram_mib = {350, 20, 60},
        .system_mib = {72},
        .video_jobs = 30000 / 1001.0}});
  run(5130, "obs", kIngest, kRootUser, 3'611, {0.5, 0.1, 50}, 610,
      {{.gpu = 1,
        .loads = {{"rcs0", {0.31, 0.11, 50}}, {"vcs0", {0.19, 0.05, 30}}},
        .vram_mib = {1150, 80, 100},
        .system_mib = {190},
        .video_jobs = 60000 / 1001.0}});
  // A recorder whose container fails and is started again.
  for (const std::uint32_t instance : {0U, 1U}) {
    run(9101 + instance, "ffmpeg", kRecorder, kRootUser, 6'020 + 145 * instance, {0.22, 0.05, 50}, 210,
        {{.gpu = 1, .loads = {{"vcs1", {0.3, 0.08, 50}}}, .vram_mib = {380, 20, 50}, .system_mib = {60}}});
    data.processes.back().lives = instance == 0 ? 130 : 140;
    data.processes.back().restarts_container = true;
    data.processes.back().written_mib = {1.5, 0.3, 50};
  }
  // A compositor that opens a client for a program of another unit.
  run(2950, "sway", kCompositor, kAnna, 60, {0.05, 0.02, 30}, 190,
      {{.gpu = 0,
        .loads = {{"rcs0", {0.06, 0.02, 30}}},
        .system_mib = {120, 8, 60},
        .descriptors = {14},
        .passed_on = {{9201, 8}},
        .on_card_node = true}});
  run(9201, "wayvnc", kRemote, kAnna, 75, {0.07, 0.03, 60}, 80,
      {{.gpu = 0, .loads = {{"vcs0", {0.04, 0.01, 60}}}, .system_mib = {40}}});
  add_packager(data);
  // Vision models.
  run(8044, "python3", kVision, kAnna, 4'500, {1.1, 0.3, 150}, 2300,
      {{.gpu = 1,
        .loads = {{"ccs0", {0.52, 0.22, 150}}, {"bcs0", {0.07, 0.03, 150}}},
        .vram_mib = {5200, 600, 150},
        .system_mib = {280}}});
  for (const std::uint32_t worker : {8046U, 8047U}) {
    run(worker, "pt_data_worker", kVision, kAnna, 4'510, {0.55, 0.15, 150}, 700, {});
    data.processes.back().parent = 8044;
    data.processes.back().read_mib = {18, 6, 150};
  }
  run(8045, "llama-server", kVision, kAnna, 4'502, {0.45, 0.2, 100}, 1500,
      {{.gpu = 2,
        .loads = {{"ccs0", {0.58, 0.27, 100}}, {"bcs0", {0.04, 0.02, 100}}},
        .vram_mib = {6900, 128, 100},
        .system_mib = {110}}});
  run(8051, "ffmpeg", kVision, kAnna, 27'350, {0.15, 0.05, 60}, 220,
      {{.gpu = 0, .loads = {{"rcs0", {0.21, 0.08, 60}}, {"bcs0", {0.03, 0.01, 60}}}, .system_mib = {240, 20, 60}}});
  // A recording that hangs a video engine every seven minutes, and a model a compute engine every eleven.
  data.hangs = {{1, EngineClass::video, 5130, std::chrono::seconds(200), std::chrono::minutes(7)},
                {2, EngineClass::compute, 8045, std::chrono::seconds(310), std::chrono::minutes(11)}};
  return data;
}

ProfileData locked() {
  ProfileData data;
  data.gpus = {integrated(kTigerLake, 0, 128), in_slot(kBattlemage, "0000:00:06.0", 1, 1, 129, 3)};
  data.privileged = false;
  data.host.perf_event_paranoid = 3;  // Debian's default
  add_system(data);
  add_process(
      data, 2211, "ffmpeg", kStream, kBroadcast[0], 31, {0.22, 0.04, 30}, 280, 3300,
      {{.gpu = 0, .loads = {{"vcs0", {0.34, 0.06, 20}}, {"vecs0", {0.21, 0.04, 20}}}, .system_mib = {412, 30, 50}}});
  add_process(data, 3350, "llama-server", kAnna, kInference, 1'802, {0.4, 0.2, 100}, 1480, 21'000,
              {{.gpu = 1,
                .loads = {{"ccs0", {0.62, 0.3, 100}}, {"bcs0", {0.03, 0.02, 100}}},
                .vram_mib = {7040, 128, 100},
                .system_mib = {96}}});
  return data;
}

ProfileData asleep() {
  ProfileData data;
  data.gpus = {in_slot(kArcA770, "0000:00:01.0", 1, 1, 128, 3), in_slot(kBattlemage, "0000:00:1c.0", 5, 2, 129, 4)};
  for (GpuData& gpu : data.gpus) gpu.script.suspended = true;
  data.host.has_psys = false;
  add_system(data);
  // A desktop that keeps both cards open without using them: a sleeping GPU can have clients.
  add_process(data, 1877, "gnome-shell", kAnna, kDesktop, 41, {0.03, 0.01, 30}, 295, 4800,
              {{.gpu = 0, .loads = {}, .system_mib = {4}, .descriptors = {14}, .on_card_node = true},
               {.gpu = 1, .loads = {}, .system_mib = {4}, .descriptors = {15}, .on_card_node = true}});
  return data;
}

// A card that three virtual machines share; its fourth function is free. The host transcodes, too, and its NPU looks
// for faces in what it transcodes.
ProfileData hypervisor() {
  ProfileData data;
  data.gpus = {in_slot(kArcProB60, "0000:00:01.0", 1, 1, 128, 3)};
  data.npus = {npu("Arrow Lake NPU", 0xad1d, 1400, {0.18, 0.06, 50}, {96, 8, 50})};
  data.host.has_psys = false;
  data.host.cores = 16;
  data.gpus[0].script.total_functions = 7;
  data.gpus[0].functions = {
      {{.number = 1, .driver = "xe-vfio-pci", .holder = 6101, .vram_quota = 5 * kGiB},
       {{"vcs0", {0.21, 0.06, 50}}, {"vecs0", {0.12, 0.04, 50}}, {"rcs0", {0.05, 0.02, 30}}}},
      {{.number = 2, .driver = "xe-vfio-pci", .holder = 6102, .vram_quota = 5 * kGiB, .seconds_between_resets = 420},
       {{"vcs1", {0.33, 0.1, 60}}, {"vecs1", {0.16, 0.05, 60}}, {"bcs0", {0.02, 0.01, 30}}}},
      {{.number = 3, .driver = "xe-vfio-pci", .holder = 6103, .vram_quota = 8 * kGiB},
       {{"ccs0", {0.55, 0.25, 100}}, {"bcs0", {0.05, 0.02, 100}}}},
      {{.number = 4, .driver = "", .vram_quota = 2 * kGiB}, {}}};
  add_system(data);
  constexpr std::uint32_t kQemu = 64055;
  add_process(data, 6101, "qemu-system-x86", kQemu, kMachines[0], 120, {0.9, 0.2, 50}, 4'100, 9'800);
  add_process(data, 6102, "qemu-system-x86", kQemu, kMachines[1], 131, {1.1, 0.3, 60}, 4'100, 9'800);
  add_process(data, 6103, "qemu-system-x86", kQemu, kMachines[2], 2'400, {1.4, 0.4, 100}, 16'400, 24'000);
  add_process(data, 5206, "ffmpeg", kStream, kBroadcast[0], 7'066, {0.25, 0.05, 50}, 260, 2700,
              {{.gpu = 0,
                .loads = {{"vcs0", {0.14, 0.04, 50}}, {"rcs0", {0.08, 0.03, 30}}},
                .vram_mib = {512, 40, 50},
                .system_mib = {88, 8, 60}}});
  return data;
}

// Speech recognition on the NPU of a laptop whose GPU's driver is not loaded.
ProfileData laptop_npu() {
  ProfileData data;
  // Idle, and asleep, for a part of each period.
  data.npus = {npu("Lunar Lake NPU", 0x643e, 1950, {0.35, 0.5, 100}, {412, 60, 100})};
  add_system(data);
  add_process(data, 4117, "whisper-server", kAnna, kInference, 3'205, {0.2, 0.1, 100}, 640, 5'200);
  return data;
}

constexpr std::array<Profile, 8> kProfiles{{
    {{"tgl-broadcast", "Tiger Lake laptop chip (integrated, i915): four ffmpeg transcodes"}, &tgl_broadcast},
    {{"arc-a770", "Arc A770 (discrete, i915): desktop, obs, an AV1 transcode and inference"}, &arc_a770},
    {{"battlemage", "Arc B580 (discrete, xe): a language model and two streams"}, &battlemage},
    {{"rack", "integrated GPU, Arc A770 and Arc B580: channels, models and short jobs in containers, pods and units"},
     &rack},
    {{"locked", "integrated GPU and Arc B580, seen by a user without any permission"}, &locked},
    {{"asleep", "Arc A770 and Arc B580, both asleep"}, &asleep},
    {{"hypervisor", "Arc Pro B60 (discrete, xe): four virtual functions, three in virtual machines; beside it an NPU"},
     &hypervisor},
    {{"npu", "NPU of a Lunar Lake laptop (intel_vpu), and no GPU"}, &laptop_npu},
}};

}  // namespace

std::span<const Profile> profiles() { return kProfiles; }

std::optional<MachineScript> script_of_profile(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.about.name == name) return build_script(profile.data());
  }
  return std::nullopt;
}

}  // namespace igpu::simulation
