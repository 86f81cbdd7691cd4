// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <variant>

#include "igpu/words.h"
#include "platform/own_process.h"
#include "server/push/mqtt_target.h"
#include "text/text.h"
#include "view/format/json_writer.h"

namespace igpu::exporter {
namespace {

struct Entity {
  std::string name, title;                            // name: of the field, also in the state document
  std::optional<GpuField> field{};                    // nothing: whether something is wrong
  std::string_view unit{}, device_class = "problem";  // of Home Assistant; "": it has no class for this quantity
  double factor = 1;
  int decimals = 0;  // that are shown

  std::string key() const {  // part of its unique_id
    std::string key = name;
    std::ranges::replace(key, '.', '_');
    return key;
  }
};

Entity entity_of(const GpuField& field) {
  // Home Assistant's dashboard of energy adds up counters in kWh.
  if (field.unit == "joules") return {field.name, field.title, field, "kWh", "energy", 1 / 3.6e6, 3};
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {{"watts", "power"},
                                                                        {"celsius", "temperature"},
                                                                        {"hertz", "frequency"},
                                                                        {"bytes", "data_size"},
                                                                        {"volts", "voltage"}};
  const auto found = std::ranges::find(kClasses, field.unit, [](const auto& pair) { return pair.first; });
  const EverydayUnit& unit = everyday(field.unit);
  return {field.name,
          field.title,
          field,
          unit.shown,
          found == std::end(kClasses) ? "" : found->second,
          unit.factor,
          field.unit == "ratio" ? 0 : unit.in_tables};
}

// The fields with a title, one for each topic and unit, and whether something is wrong.
const std::vector<Entity>& entities() {
  static const std::vector<Entity> kAll = [] {
    std::vector<Entity> all;
    const auto topic_of = [](const GpuField& field) { return field.path.substr(0, field.path.find('.')); };
    for (const GpuField& field : gpu_fields()) {
      const bool is_second = !all.empty() && field.key.empty() && topic_of(*all.back().field) == topic_of(field) &&
                             all.back().field->unit == field.unit;
      if (field.title.empty() || is_second || field.name == "engine.busy") continue;  // its classes follow
      all.push_back(entity_of(field));
    }
    all.push_back({"problem", "Problem"});
    return all;
  }();
  return kAll;
}
constexpr std::string_view kTrouble = "trouble";  // member of the state document: the problem in words

constexpr std::size_t kMaxNameBytes = 128;
constexpr std::chrono::seconds kShortestExpiry{60};
constexpr int kMissedReadings = 4;  // after that, Home Assistant shows a value no longer

// text with only letters, digits and the characters in `also`.
std::string plain(std::string_view text, std::string_view also) {
  std::string out(text.substr(0, kMaxNameBytes));
  std::ranges::replace_if(
      out, [&](char c) { return !is_letter_or_digit(c) && also.find(c) == also.npos; }, '_');
  return out;
}

// "DG2 [Arc A770]", as pci.ids has it, is sold as "Arc A770".
std::string product_name(const Gpu& gpu) {
  std::string_view name = gpu.name;
  const std::size_t open = name.find('['), close = name.rfind(']');
  if (open != name.npos && close != name.npos && close > open + 1) name = name.substr(open + 1, close - open - 1);
  return name.empty() ? "Intel GPU" : clean_text(name, kMaxNameBytes);
}

// False: null, as nobody can say, or as it is a text: sensors have numbers.
bool write_value(JsonWriter& json, const Entity& entity, const GpuModel& gpu, const std::string& trouble) {
  const bool knows_problems = gpu.hang_captured || gpu.wedged || gpu.survivability || !gpu.faults.empty();
  if (!entity.field && (knows_problems || !trouble.empty())) {
    json.value(trouble.empty() ? "OFF" : "ON");
    return true;
  }
  const Reading<Scalar> value = entity.field ? igpu::value_of(gpu, *entity.field) : Absent{};
  const double* const number = value ? std::get_if<double>(&*value) : nullptr;
  if (number == nullptr) {
    json.null();
    return false;
  }
  const double scale = std::pow(10, std::max(2, entity.decimals + 1));
  json.value(std::round(*number * entity.factor * scale) / scale + 0.0);  // no negative zero
  return true;
}

// The state document. Sets `found` of the entities that have a value.
std::string state_of(const GpuModel& gpu, std::chrono::system_clock::time_point time, std::vector<bool>& found) {
  const Seconds now{std::chrono::duration<double>(time.time_since_epoch()).count()};
  const std::string trouble = snapshot::trouble_of(gpu, now);
  JsonWriter json;
  json.begin_object().member("time", time_text(time)).member("device", gpu.gpu.address);
  for (std::size_t i = 0; i < entities().size(); ++i) {
    json.name(entities()[i].name);
    if (write_value(json, entities()[i], gpu, trouble)) found[i] = true;
  }
  json.member(kTrouble, trouble).end_object();
  return json.take();
}

void write_entity(JsonWriter& json, const Entity& entity, const std::string& device_id, const std::string& state_topic,
                  std::chrono::seconds expire_after) {
  const bool binary = !entity.field;
  const std::string key = entity.key();
  json.name(key).begin_object().member("platform", binary ? "binary_sensor" : "sensor");
  json.member("unique_id", device_id + '_' + key).member("name", entity.title);
  if (!entity.device_class.empty()) json.member("device_class", entity.device_class);
  // null becomes the text None, which Home Assistant shows as unknown.
  json.member("value_template", "{{ value_json['" + entity.name + "'] }}");
  json.member("expire_after", static_cast<std::uint64_t>(expire_after.count()));
  if (binary) {
    json.member("entity_category", "diagnostic").member("json_attributes_topic", state_topic);
    json.member("json_attributes_template",
                "{{ {'" + std::string(kTrouble) + "': value_json." + std::string(kTrouble) + "} | tojson }}");
  } else {
    json.member("unit_of_measurement", entity.unit);
    json.member("state_class", entity.device_class == "energy" ? "total_increasing" : "measurement");
    json.member("suggested_display_precision", entity.decimals);
  }
  json.end_object();
}

}  // namespace

HomeAssistant::HomeAssistant(std::string_view host, std::string_view base, std::chrono::seconds interval,
                             std::string page)
    : host_(plain(host, "_.-")),
      base_(base),
      page_(std::move(page)),
      expire_after_(std::max(kShortestExpiry, kMissedReadings * interval)) {
  if (host_.empty()) host_ = "host";
  availability_topic_ = base_ + '/' + host_ + "/status";
}

std::string HomeAssistant::id_of(std::string_view address) const {
  return plain("intel_gpu_" + host_ + '_' + std::string(address), "_-");
}

std::string HomeAssistant::topic_of(std::string_view address, std::string_view name) const {
  return base_ + '/' + host_ + '/' + plain(address, ":.-_") + '/' + std::string(name);
}

HomeAssistant::Update HomeAssistant::update(const HostModel& host, std::chrono::system_clock::time_point time) {
  Update update;
  for (auto& [address, device] : devices_) device.present = false;
  for (const GpuModel& gpu : host.gpus) {
    Device& device = devices_[gpu.gpu.address];
    device.present = true;
    device.entities.resize(entities().size());
    std::string state = state_of(gpu, time, device.entities);
    // A sleeping GPU has no values. What an earlier run of this program described must not lose its entities now.
    const std::string status = topic_of(gpu.gpu.address, "status");
    if (gpu.suspended.value_or(false) && !retained_.contains(status)) continue;
    const auto described = std::ranges::count(device.entities, true);
    if (described == 0) continue;
    update.states.push_back({topic_of(gpu.gpu.address, "state"), std::move(state), false});
    update.values += static_cast<std::uint64_t>(described);
    std::string name = host_ + ' ' + product_name(gpu.gpu);
    const auto twins =
        std::ranges::count_if(host.gpus, [&](const GpuModel& other) { return other.gpu.name == gpu.gpu.name; });
    if (twins > 1) name += ' ' + gpu.gpu.address;
    retained_["homeassistant/device/" + id_of(gpu.gpu.address) + "/config"] = description(gpu, name, device);
    retained_[status] = kOnline;
  }
  for (const auto& [address, device] : devices_) {
    if (device.present) continue;
    if (const auto known = retained_.find(topic_of(address, "status")); known != retained_.end())
      known->second = kOffline;
  }
  return update;
}

std::string HomeAssistant::description(const GpuModel& gpu, const std::string& name, const Device& device) const {
  const std::string id = id_of(gpu.gpu.address);
  const std::string state_topic = topic_of(gpu.gpu.address, "state");
  JsonWriter json;
  json.begin_object().name("device").begin_object();
  json.name("identifiers").begin_array().value(id).end_array();
  json.member("name", name).member("manufacturer", "Intel");
  if (!gpu.gpu.name.empty()) json.member("model", clean_text(gpu.gpu.name, kMaxNameBytes));
  if (!page_.empty()) json.member("configuration_url", page_);
  json.end_object();
  json.name("origin").begin_object().member("name", kProgramName).member("sw_version", build_info().version);
  json.end_object().name("components").begin_object();
  for (std::size_t i = 0; i < entities().size(); ++i)
    if (device.entities[i]) write_entity(json, entities()[i], id, state_topic, expire_after_);
  json.end_object().member("state_topic", state_topic).member("qos", 1);
  json.name("availability").begin_array();
  for (const std::string& topic : {availability_topic_, topic_of(gpu.gpu.address, "status")})
    json.begin_object().member("topic", topic).end_object();
  json.end_array().member("availability_mode", "all").end_object();
  return json.take();
}

}  // namespace igpu::exporter
