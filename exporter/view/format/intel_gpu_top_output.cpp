// SPDX-License-Identifier: Apache-2.0
#include "view/format/intel_gpu_top_output.h"

#include <charconv>

#include "view/format/json_writer.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {
namespace {

using Record = IntelGpuTopRecord;

void write_group(const Record::Group& group, JsonWriter& json) {
  json.name(group.name).begin_object();
  for (const Record::Item& item : group.items) json.name(item.name).fixed(item.value.value_or(0));
  json.member("unit", group.unit).end_object();
}

void write_memory(const Record::Client& client, JsonWriter& json) {
  if (client.memory.empty()) return;
  json.name("memory").begin_object();
  for (const Record::Region& region : client.memory) {
    json.name(region.name).begin_object();
    for (std::size_t i = 0; i < region.bytes.size(); ++i) {
      std::string bytes;
      append_number(bytes, region.bytes[i]);
      json.member(kIntelGpuTopMemoryStates[i], bytes);
    }
    json.end_object();
  }
  json.end_object();
}

void write_client(const Record::Client& client, JsonWriter& json) {
  json.name(std::to_string(-client.pid)).begin_object();  // 2^32 - PID: how the original names all clients of a process
  json.member("name", client.name).member("pid", std::to_string(client.pid));
  write_memory(client, json);
  if (client.busy) {
    json.name("engine-classes").begin_object();
    for (const auto& [title, busy] : *client.busy) {
      std::string text;
      append_fixed(text, busy);
      json.name(title).begin_object().member("busy", text).member("unit", "%").end_object();
    }
    json.end_object();
  }
  json.end_object();
}

constexpr unsigned kRowsOfAScreen = 18;

template <class Use>
void each_item(const Record& record, const Use& use) {
  for (const auto* groups : {&record.groups, &record.engines})
    for (const Record::Group& group : *groups)
      for (const Record::Item& item : group.items) use(group, item);
}

std::string right_aligned(std::string_view text, int width) {
  const auto places = static_cast<std::size_t>(width);
  return std::string(places > text.size() ? places - text.size() : 0, ' ') + std::string(text);
}

// With fewer decimals if it is too wide, where the original has only X.
std::string fitted(double value, int width, int decimals) {
  std::array<char, 384> digits;
  for (; decimals >= 0; --decimals) {
    const char* const end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals).ptr;
    if (end - digits.data() <= width)
      return right_aligned({digits.data(), static_cast<std::size_t>(end - digits.data())}, width);
  }
  return std::string(static_cast<std::size_t>(width), 'X');
}

}  // namespace

void IntelGpuTopJson::write(const IntelGpuTopRecord& record, std::string& out) {
  if (started_) {
    out += ',';
  } else if (in_array_) {
    out += kOpen;
  }
  started_ = true;
  JsonWriter json(JsonWriter::Layout::indented);
  json.begin_object();
  write_group({"period", "", "ms", {{"duration", "", 0, 0, record.period_ms}}}, json);
  for (const Record::Group& group : record.groups) write_group(group, json);
  json.name("engines").begin_object();
  for (const Record::Group& engine : record.engines) write_group(engine, json);
  json.end_object();
  if (record.clients) {
    json.name("clients").begin_object();
    for (const Record::Client& client : *record.clients) write_client(client, json);
    json.end_object();
  }
  out += '\n' + json.end_object().take();
}

void IntelGpuTopJson::finish(std::string& out) {
  if (!in_array_) return;
  if (!started_) out += kOpen;
  out += kClose;
  started_ = false;
}

void IntelGpuTopText::choose_columns(const Record& record) {
  each_item(record, [&](const Record::Group& group, const Record::Item& item) {
    if (!item.value) return;
    columns_.push_back({group.name, group.title, item.name, item.column, item.width, item.decimals,
                        item.name == group.items.front().name});
  });
}

void IntelGpuTopText::write_header(std::string& out) const {
  if (form_ == Form::csv) {
    for (const Column& column : columns_)
      out.append(&column == columns_.data() ? "" : ",").append(column.title).append(" ").append(column.name);
    out += '\n';
    return;
  }
  for (std::size_t i = 0; i < columns_.size();) {
    int width = -1;
    const std::size_t first = i;
    for (; i < columns_.size() && columns_[i].group == columns_[first].group; ++i) width += columns_[i].width + 1;
    out += right_aligned(columns_[first].starts_group ? columns_[first].title : "", width) + ' ';
  }
  out += '\n';
  for (const Column& column : columns_) out += right_aligned(column.name, column.width) + ' ';
  out += '\n';
}

void IntelGpuTopText::write(const Record& record, std::string& out) {
  if (!record.gpu_found) return;
  if (columns_.empty()) {
    choose_columns(record);
    write_header(out);
  } else if (repeats_header_ && form_ == Form::table && rows_ >= kRowsOfAScreen) {
    write_header(out);
    rows_ = 0;
  }
  ++rows_;
  for (const Column& column : columns_) {
    double value = 0;
    each_item(record, [&](const Record::Group& group, const Record::Item& item) {
      // A GPU that slept at the first record had no GTs yet.
      const bool is_it = group.name == column.group || group.name == column.group + "-gt0";
      if (is_it && item.name == column.item) value = item.value.value_or(0);
    });
    if (form_ == Form::table) {
      out += fitted(value, column.width, column.decimals) + ' ';
    } else {
      if (&column != columns_.data()) out += ',';
      append_fixed(out, value);
    }
  }
  out += '\n';
}

}  // namespace igpu::exporter
