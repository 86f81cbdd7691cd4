// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <optional>

#include "machine/library_windows.h"
#include "machine/sysman.h"
#include "machine/ze_result.h"
#include "machine/zes_windows.h"

namespace igpu {
namespace {

using Handles = std::vector<zes::Handle>;

constexpr std::uint32_t kMostHandles = 64;  // more are a driver's mistake

struct SysmanFunctions {
  using Result = std::uint32_t;
  using Enumerate = Result(zes::Handle, std::uint32_t*, zes::Handle*);
  template <class T>
  using Get = Result(zes::Handle, T*);

  explicit SysmanFunctions(const WindowsLibrary& library) {
    complete = library.look_up(init, "zesInit") && library.look_up(drivers, "zesDriverGet") &&
               library.look_up(devices, "zesDeviceGet") && library.look_up(pci, "zesDevicePciGetProperties") &&
               library.look_up(power_domains, "zesDeviceEnumPowerDomains") &&
               library.look_up(power, "zesPowerGetProperties") && library.look_up(energy, "zesPowerGetEnergyCounter") &&
               library.look_up(sensors, "zesDeviceEnumTemperatureSensors") &&
               library.look_up(sensor, "zesTemperatureGetProperties") &&
               library.look_up(celsius, "zesTemperatureGetState") && library.look_up(fans, "zesDeviceEnumFans") &&
               library.look_up(rpm, "zesFanGetState") && library.look_up(memories, "zesDeviceEnumMemoryModules") &&
               library.look_up(memory, "zesMemoryGetProperties") && library.look_up(bandwidth, "zesMemoryGetBandwidth");
  }

  bool complete = false;
  Result (*init)(std::uint32_t) = nullptr;
  Result (*drivers)(std::uint32_t*, zes::Handle*) = nullptr;
  Enumerate *devices = nullptr, *power_domains = nullptr, *sensors = nullptr, *fans = nullptr, *memories = nullptr;
  Get<zes::PciProperties>* pci = nullptr;
  Get<zes::PowerProperties>* power = nullptr;
  Get<zes::EnergyCounter>* energy = nullptr;
  Get<zes::TemperatureProperties>* sensor = nullptr;
  Get<double>* celsius = nullptr;
  Result (*rpm)(zes::Handle, std::uint32_t, std::int32_t*) = nullptr;
  Get<zes::MemoryProperties>* memory = nullptr;
  Get<zes::MemoryBandwidth>* bandwidth = nullptr;
};

// Ask: of the number and an array, which is null at first.
template <class Ask>
Reading<Handles> enumerate(const char* call, const Ask& ask) {
  std::uint32_t count = 0;
  auto result = static_cast<ZeResult>(ask(&count, nullptr));
  if (result != ZeResult::success) return outcome_of_ze_result<Handles>(result, call);
  if (count > kMostHandles)
    return Failure{std::make_error_code(std::errc::value_too_large), std::string(call) + ": number"};
  Handles handles(count);
  if (count == 0) return handles;
  result = static_cast<ZeResult>(ask(&count, handles.data()));
  if (result != ZeResult::success) return outcome_of_ze_result<Handles>(result, call);
  handles.resize(std::min<std::size_t>(count, handles.size()));
  std::erase(handles, nullptr);
  return handles;
}

template <class T, class Value>
Reading<T> reading(std::uint32_t result, const char* call, const Value& value) {
  if (static_cast<ZeResult>(result) == ZeResult::success) return T(value);
  return outcome_of_ze_result<T>(static_cast<ZeResult>(result), call);
}

class SystemDevice final : public SysmanDevice {
 public:
  SystemDevice(std::shared_ptr<const SysmanFunctions> functions, zes::Handle device)
      : functions_(std::move(functions)), device_(device) {}

  Reading<std::vector<SysmanEnergy>> energies() override {
    return parts<SysmanEnergy>("zesDeviceEnumPowerDomains", functions_->power_domains,
                               [this](zes::Handle part) -> std::optional<SysmanEnergy> {
                                 zes::PowerLimit limit;
                                 zes::PowerExtProperties ext;
                                 ext.default_limit = &limit;
                                 zes::PowerProperties facts;
                                 facts.next = &ext;
                                 if (functions_->power(part, &facts) != 0) ext.domain = 0;
                                 if (facts.on_subdevice != 0) return std::nullopt;
                                 zes::EnergyCounter counter{};
                                 const std::uint32_t result = functions_->energy(part, &counter);
                                 return SysmanEnergy{
                                     ext.domain,
                                     reading<std::uint64_t>(result, "zesPowerGetEnergyCounter", counter.microjoules)};
                               });
  }
  Reading<std::vector<SysmanTemperature>> temperatures() override {
    return parts<SysmanTemperature>(
        "zesDeviceEnumTemperatureSensors", functions_->sensors,
        [this](zes::Handle part) -> std::optional<SysmanTemperature> {
          zes::TemperatureProperties facts;
          if (functions_->sensor(part, &facts) != 0 || facts.on_subdevice != 0) return std::nullopt;
          double celsius = 0;
          const std::uint32_t result = functions_->celsius(part, &celsius);
          return SysmanTemperature{facts.sensor, reading<double>(result, "zesTemperatureGetState", celsius)};
        });
  }
  Reading<std::vector<Reading<std::int32_t>>> fans() override {
    return parts<Reading<std::int32_t>>("zesDeviceEnumFans", functions_->fans, [this](zes::Handle part) {
      std::int32_t rpm = -1;
      const std::uint32_t result = functions_->rpm(part, zes::kRpm, &rpm);
      return std::optional(reading<std::int32_t>(result, "zesFanGetState", rpm));
    });
  }
  Reading<std::vector<Reading<SysmanBytes>>> memories() override {
    return parts<Reading<SysmanBytes>>(
        "zesDeviceEnumMemoryModules", functions_->memories,
        [this](zes::Handle part) -> std::optional<Reading<SysmanBytes>> {
          zes::MemoryProperties facts;
          if (functions_->memory(part, &facts) != 0 || facts.on_subdevice != 0 || facts.location != zes::kOfDevice)
            return std::nullopt;
          zes::MemoryBandwidth told{};
          const std::uint32_t result = functions_->bandwidth(part, &told);
          return reading<SysmanBytes>(result, "zesMemoryGetBandwidth", SysmanBytes{told.read, told.written});
        });
  }

 private:
  template <class Part, class Describe>
  Reading<std::vector<Part>> parts(const char* call, SysmanFunctions::Enumerate* all, const Describe& describe) const {
    const auto handles =
        enumerate(call, [&](std::uint32_t* count, zes::Handle* array) { return all(device_, count, array); });
    if (!handles) return handles.template propagate<std::vector<Part>>();
    std::vector<Part> found;
    for (const zes::Handle handle : *handles)
      if (auto part = describe(handle)) found.push_back(*std::move(part));
    return found;
  }

  std::shared_ptr<const SysmanFunctions> functions_;
  zes::Handle device_;
};

class SystemSysman final : public Sysman {
 public:
  explicit SystemSysman(std::string library) : name_(std::move(library)) {}
  // The driver's library has threads of its own: it stays loaded.
  ~SystemSysman() override { (void)library_.release(); }
  SystemSysman(const SystemSysman&) = delete;
  SystemSysman& operator=(const SystemSysman&) = delete;

  Reading<std::shared_ptr<SysmanDevice>> device(std::string_view pci_address) override {
    const std::lock_guard lock(mutex_);
    if (const auto started = start(); !started) return started.propagate<std::shared_ptr<SysmanDevice>>();
    const auto drivers = enumerate(
        "zesDriverGet", [&](std::uint32_t* count, zes::Handle* array) { return functions_->drivers(count, array); });
    if (!drivers) return drivers.propagate<std::shared_ptr<SysmanDevice>>();
    for (const zes::Handle driver : *drivers) {
      const auto devices = enumerate("zesDeviceGet", [&](std::uint32_t* count, zes::Handle* array) {
        return functions_->devices(driver, count, array);
      });
      if (!devices) return devices.propagate<std::shared_ptr<SysmanDevice>>();
      for (const zes::Handle device : *devices)
        if (address_of(device) == pci_address)
          return std::shared_ptr<SysmanDevice>(std::make_shared<SystemDevice>(functions_, device));
    }
    return Absent{Reason::kernel, ENODEV};
  }

 private:
  // Once; a library that is not there is not looked for again.
  Reading<Unit> start() {
    if (started_) return *started_;
    library_ = std::make_unique<WindowsLibrary>(name_);
    functions_ = std::make_shared<const SysmanFunctions>(*library_);
    // Older loaders have no zesInit: they want a variable of the environment before the process starts.
    if (!functions_->complete) return started_.emplace(Absent{Reason::kernel, ENOENT});
    return started_.emplace(reading<Unit>(functions_->init(0), "zesInit", Unit{}));
  }

  std::string address_of(zes::Handle device) const {
    zes::PciProperties facts;
    if (functions_->pci(device, &facts) != 0) return {};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", facts.domain, facts.bus, facts.device, facts.function);
    return text.data();
  }

  const std::string name_;
  std::mutex mutex_;
  std::unique_ptr<WindowsLibrary> library_;
  std::shared_ptr<const SysmanFunctions> functions_;
  std::optional<Reading<Unit>> started_;
};

}  // namespace

std::unique_ptr<Sysman> system_sysman(const std::string& library) { return std::make_unique<SystemSysman>(library); }

}  // namespace igpu
