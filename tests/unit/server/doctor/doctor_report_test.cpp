// SPDX-License-Identifier: Apache-2.0
#include "server/doctor/doctor_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace igpu;
using namespace igpu::exporter;
using Json = nlohmann::json;

namespace {

constexpr FeatureDescriptor kBusy{"engine_busy", "Busy time of every engine."};
constexpr FeatureDescriptor kPower{"power", "Energy and power."};
constexpr FeatureDescriptor kFan{"fan", "Fan speed."};
constexpr FeatureDescriptor kVoltage{"voltage", "Voltage."};
constexpr FeatureDescriptor kProcesses{"processes", "GPU use of other users' processes.", Need::other_processes, true};

Gpu gpu(const char* address, const char* name) {
  Gpu result;
  result.address = address;
  result.name = name;
  return result;
}

Finding absent(const FeatureDescriptor& feature, const char* device, Reason reason, const char* cause = "",
               const char* hint = "") {
  return {&feature, "engines", device, false, {reason}, cause, hint};
}

Diagnosis diagnosis(std::span<const Finding> findings) {
  Diagnosis result;
  result.gpus = {gpu("0000:00:02.0", "UHD Graphics 770"), gpu("0000:03:00.0", "DG2 [Arc A770]")};
  result.findings = findings;
  for (LayerOutcome& outcome : result.sandbox) outcome.on = true;
  return result;
}

// From a title to the next empty line.
std::string section(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find(title + "\n");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

}  // namespace

TEST_SUITE_BEGIN("doctor_report");

TEST_CASE("it begins with what to do: commands alone, each once, then what they bring") {
  const FeatureDescriptor firmware{"firmware", "Firmware.", Need::render_node, false, {}, true};
  const Finding findings[] = {absent(kBusy, "0000:00:02.0", Reason::permission, "refused", "group render"),
                              absent(firmware, "0000:00:02.0", Reason::permission, "refused", "group render"),
                              absent(firmware, "0000:03:00.0", Reason::permission, "refused", "group render")};
  Diagnosis found = diagnosis(findings);
  found.place = {"bare metal",
                 "",
                 {{"", {"sudo usermod -aG render \"$USER\"", "printf x |\n  sudo tee y"}}, {"Then log in again.", {}}},
                 "2 commands grant 1 value:"};
  const std::string text = doctor_text(found);
  CHECK(
      text.starts_with("2 commands grant 1 value:\n\n"
                       "  sudo usermod -aG render \"$USER\"\n"
                       "  printf x |\n"
                       "    sudo tee y\n\n"
                       "  Then log in again.\n\n"
                       "What each brings\n"
                       "  1.       group render\n"
                       "           why: refused\n"
                       "           * engine_busy of 0000:00:02.0: Busy time of every engine.\n"
                       "           * firmware (optional) of 0000:00:02.0, 0000:03:00.0: Firmware.\n\n"));
  CHECK(text.find("group render") == text.rfind("group render"));
  CHECK(text.find("usermod") == text.rfind("usermod"));
  const Json place = Json::parse(doctor_json(found)).at("place");
  CHECK(place.at("title") == "2 commands grant 1 value:");
  CHECK(place.at("steps").at(0).at("lines").size() == 2);
  CHECK(place.at("steps").at(1).at("text") == "Then log in again.");
}

TEST_CASE("findings are grouped by fix, each fix once; absent hardware is one line") {
  const char* const hint = "give it CAP_PERFMON";
  const Finding findings[] = {absent(kBusy, "0000:00:02.0", Reason::permission, "refused", hint),
                              absent(kPower, "0000:00:02.0", Reason::permission, "refused", hint),
                              absent(kFan, "0000:00:02.0", Reason::hardware),
                              absent(kVoltage, "0000:00:02.0", Reason::hardware),
                              absent(kBusy, "0000:03:00.0", Reason::permission, "refused", hint),
                              {&kFan, "hwmon", "0000:03:00.0", true, {}, {}, {}},
                              absent(kProcesses, "", Reason::permission, "fdinfo refused", "give it CAP_SYS_PTRACE")};
  const Diagnosis found = diagnosis(findings);
  const std::string text = doctor_text(found);
  CHECK(section(text, "0000:00:02.0  UHD Graphics 770 (integrated, i915)") ==
        "0000:00:02.0  UHD Graphics 770 (integrated, i915)\n"
        "  MISSING  not permitted: engine_busy, power\n"
        "  -        this hardware does not have it: fan, voltage");
  CHECK(section(text, "What each brings") ==
        "What each brings\n"
        "  1.       give it CAP_PERFMON\n"
        "           why: refused\n"
        "           * engine_busy of 0000:00:02.0, 0000:03:00.0: Busy time of every\n"
        "             engine.\n"
        "           * power of 0000:00:02.0: Energy and power.\n"
        "  2.       give it CAP_SYS_PTRACE\n"
        "           why: fdinfo refused\n"
        "           * processes: GPU use of other users' processes.");
  CHECK(text.ends_with("\n4 missing; what to do is at the top.\n"));
  CHECK_FALSE(found.complete());
}

TEST_CASE("a GPU that no driver has is missing, with the command that fits the reason") {
  Diagnosis found = diagnosis({});
  const auto unbound = [&](snapshot::Unbound gpu) {
    gpu.address = "0000:04:00.0";
    if (gpu.device_id.empty()) gpu.device_id = "0xe20b";
    gpu.name = "Arc B580";
    found.unbound = {gpu};
    return section(doctor_text(found), "0000:04:00.0  Arc B580");
  };
  const auto holds = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const std::string force = "i915.force_probe=!e20b xe.force_probe=e20b";

  const std::string none = unbound({.reason = "no_driver"});
  CHECK(holds(none, "  MISSING  no driver has taken it\n           sudo modprobe -a i915 xe"));
  CHECK(holds(none, "sudo dmesg | grep 0000:04:00.0"));
  CHECK_FALSE(holds(none, "force_probe"));  // every driver that knows this GPU takes it unforced
  CHECK_FALSE(found.complete());
  CHECK(doctor_text(found).ends_with("\n1 missing; what to do is at the top.\n"));

  const std::string firmware = unbound({.reason = "firmware", .driver = "xe", .firmware = "xe/bmg_guc_70.bin"});
  CHECK(holds(firmware, "the firmware xe/bmg_guc_70.bin could not be loaded"));
  CHECK(holds(firmware, "/lib/firmware/xe/bmg_guc_70.bin (Debian: firmware-intel-graphics"));

  const std::string refused = unbound({.reason = "no_driver", .driver = "i915", .error = "force_probe"});
  CHECK(holds(refused, "i915 does not take this GPU without force_probe\n           boot with i915.force_probe=e20b"));
  CHECK(holds(unbound({.reason = "no_driver", .driver = "xe", .error = "force_probe"}), "boot with " + force));
  CHECK(holds(unbound({.device_id = "0x0bd5", .reason = "no_driver"}), "xe.force_probe=0bd5"));  // Ponte Vecchio

  const std::string failed = unbound({.reason = "no_driver", .driver = "xe", .error = "-12"});
  CHECK(holds(failed, "xe failed to take it (error -12)\n           sudo dmesg | grep 0000:04:00.0"));

  const std::string other = unbound({.reason = "other_driver", .driver = "uio_pci_generic"});
  CHECK(holds(other, "MISSING  the driver uio_pci_generic has it"));
  CHECK(holds(other, "/sys/bus/pci/devices/0000:04:00.0/driver/unbind /sys/bus/pci/drivers_probe"));
  CHECK(holds(unbound({.reason = "no_node", .driver = "xe"}), "xe has it, but has made no DRM node for it"));

  CHECK(unbound({.reason = "guest"}) ==
        "0000:04:00.0  Arc B580\n  -        given to a virtual machine: its values are read there");
  CHECK(found.complete());
  CHECK(doctor_text(found).starts_with("Nothing is missing.\n"));

  found.unbound = {{.address = "0000:04:00.0", .reason = "no_driver"}};  // an id that cannot be read
  CHECK(holds(doctor_text(found), "modprobe"));
  CHECK_FALSE(holds(doctor_text(found), "force_probe"));

  found.gpus.clear();  // it is the only one
  CHECK_FALSE(holds(doctor_text(found), "lspci"));
}

TEST_CASE("a virtual function is called one, and what it lacks is not blamed on the hardware") {
  const Finding findings[] = {absent(kFan, "0000:00:02.0", Reason::hardware),
                              absent(kVoltage, "0000:00:02.0", Reason::hardware)};
  Diagnosis found = diagnosis(findings);
  found.gpus.front().virtual_function = true;
  CHECK(section(doctor_text(found), "0000:00:02.0  UHD Graphics 770 (integrated, i915, virtual function)") ==
        "0000:00:02.0  UHD Graphics 770 (integrated, i915, virtual function)\n"
        "  -        a virtual function does not have it; it is read on the host: fan,\n"
        "           voltage");
}

TEST_CASE("a feature that no driver version has is not missing, one of a newer kernel is") {
  const Finding findings[] = {absent(kBusy, "0000:00:02.0", Reason::kernel, "the xe driver has it in no version"),
                              absent(kFan, "0000:03:00.0", Reason::kernel, "Linux 6.12", "Linux 6.16 or newer")};
  const Diagnosis found = diagnosis(findings);
  CHECK(found.missing() == 1);
  const std::string text = doctor_text(found);
  CHECK(text.find("  -        no version of this driver has it: engine_busy\n") != std::string::npos);
  CHECK(text.find("  MISSING  this kernel does not offer it: fan\n") != std::string::npos);
  CHECK(text.find("  1.       Linux 6.16 or newer\n") != std::string::npos);
}

TEST_CASE("what only saves time is optional: its hint is shown, and it is not missing") {
  const FeatureDescriptor faster{"client_finder", "Takes less time.", Need::client_finder, true, {}, true};
  const Finding findings[] = {absent(faster, "", Reason::permission, "BPF programs are denied", "give it CAP_BPF")};
  const Diagnosis found = diagnosis(findings);
  CHECK(found.complete());
  const std::string text = doctor_text(found);
  CHECK(section(text, "This machine") ==
        "This machine\n"
        "  -        optional: client_finder");
  CHECK(section(text, "Optional") ==
        "Optional\n"
        "  1.       give it CAP_BPF\n"
        "           why: BPF programs are denied\n"
        "           * client_finder: Takes less time.\n");
  CHECK(text.find("What each brings") == std::string::npos);
  CHECK(text.starts_with("Nothing is missing.\n"));
}

TEST_CASE("who lets jobs be counted reads that the driver's modules stay loaded meanwhile") {
  const FeatureDescriptor jobs{"jobs", "Time that jobs wait and run.", Need::job_events};
  const Finding counted[] = {{&jobs, "jobs", "0000:03:00.0", true, {}, {}, {}}};
  const std::string text = doctor_text(diagnosis(counted));
  CHECK(section(text, "0000:03:00.0  DG2 [Arc A770] (integrated, i915)") ==
        "0000:03:00.0  DG2 [Arc A770] (integrated, i915)\n"
        "  ok       jobs\n"
        "  -        while jobs are counted, i915, or gpu_sched and xe, cannot be unloaded");
  const Finding denied[] = {
      absent(jobs, "0000:03:00.0", Reason::permission, "BPF programs are denied", "give it CAP_BPF")};
  CHECK(doctor_text(diagnosis(denied)).find("cannot be unloaded") == std::string::npos);
}

TEST_CASE("the verdict: nothing missing, unknown while asleep, or no GPU") {
  Diagnosis found = diagnosis({});
  CHECK(doctor_text(found).starts_with("Nothing is missing.\n"));
  CHECK(found.complete());
  const Finding asleep[] = {absent(kBusy, "0000:00:02.0", Reason::suspended)};
  found.findings = asleep;
  CHECK(found.complete());
  CHECK(doctor_text(found).find("without waking a GPU that is asleep") != std::string::npos);
  found.gpus.clear();
  CHECK_FALSE(found.complete());
  CHECK(doctor_text(found).find("lspci -nnk -d 8086::0300; lspci -nnk -d 8086::0380\n") != std::string::npos);
  const Json none = Json::parse(doctor_json(found)).at("no_gpu");
  CHECK(none.at("command") == "lspci -nnk -d 8086::0300; lspci -nnk -d 8086::0380");
  CHECK(none.at("cause").get<std::string>().starts_with("no PCI device"));
  CHECK(none.at("hint").get<std::string>().find("modprobe") != std::string::npos);
}

TEST_CASE("a simulation says so first, and whose sandbox is shown") {
  Diagnosis found = diagnosis({});
  CHECK_FALSE(Json::parse(doctor_json(found)).contains("simulated"));
  found.simulated = "locked";
  const std::string text = doctor_text(found);
  CHECK(text.starts_with("Simulated: locked. What follows is about that machine, not about this one.\n\nNothing is"));
  CHECK(text.find("on this machine, not on the simulated one\n") != std::string::npos);
  CHECK(Json::parse(doctor_json(found)).at("simulated") == "locked");
}

TEST_CASE("failed collectors and an invalid web configuration count as missing") {
  Diagnosis found = diagnosis({});
  const std::string_view failed[] = {"rc6"};
  found.failed_collectors = failed;
  found.web_config_file = "/etc/web.yml";
  found.web_config_error = "/etc/web.yml:3: unknown key";
  CHECK(found.missing() == 2);
  const std::string text = doctor_text(found);
  CHECK(text.find("  FAILED   collector rc6") != std::string::npos);
  CHECK(text.find("  FAILED   /etc/web.yml\n           why: /etc/web.yml:3: unknown key\n") != std::string::npos);
}

TEST_CASE("the JSON report contains the same findings") {
  const Finding findings[] = {
      absent(kBusy, "0000:00:02.0", Reason::permission, "refused \"EACCES\"", "give it CAP_PERFMON"),
      {&kFan, "hwmon", "0000:03:00.0", true, {}, {}, {}}};
  const Json json = Json::parse(doctor_json(diagnosis(findings)));
  CHECK(json.at("complete") == false);
  CHECK(json.at("missing") == 1);
  REQUIRE(json.at("gpus").size() == 2);
  const Json& feature = json.at("gpus").at(0).at("features").at(0);
  CHECK(feature.at("feature") == "engine_busy");
  CHECK(feature.at("reason") == "permission");
  CHECK(feature.at("cause") == "refused \"EACCES\"");
  CHECK(feature.at("hint") == "give it CAP_PERFMON");
  CHECK(json.at("gpus").at(1).at("features").at(0).at("available") == true);
  REQUIRE(json.at("fixes").size() == 1);
  CHECK(json.at("fixes").at(0).at("brings").at(0).at("device") == "0000:00:02.0");
  CHECK(json.at("sandbox").size() == kLayers.size());
  CHECK_FALSE(json.contains("web_config"));
}

TEST_CASE("what a GPU wastes stands below its features, with the command; it is not missing") {
  Diagnosis found = diagnosis({});
  found.advice =
      decltype(found.advice)::value_type{{"0000:03:00.0", true, "it may never sleep", "echo auto | sudo tee control"},
                                         {"0000:03:00.0", false, "it is awake", ""}};
  const std::string text = doctor_text(found);
  CHECK(section(text, "0000:03:00.0  DG2 [Arc A770] (integrated, i915)").find("CHECK") != std::string::npos);
  CHECK(text.find("  CHECK    it may never sleep\n           echo auto | sudo tee control\n") != std::string::npos);
  CHECK(text.find("  -        it is awake\n") != std::string::npos);
  CHECK(found.complete());
  const Json json = Json::parse(doctor_json(found));
  CHECK(json["gpus"][0]["advice"].empty());
  CHECK(json["gpus"][1]["advice"][0]["command"] == "echo auto | sudo tee control");
  CHECK(json["gpus"][1]["advice"][1]["wrong"] == false);
}

TEST_SUITE_END();
