// SPDX-License-Identifier: Apache-2.0
#include "view/format/intel_gpu_top_output.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "view/format/json_writer.h"
#include "view/format/number.h"

namespace igpu::exporter {
namespace {

using Record = IntelGpuTopRecord;

// JSON with a tab for each level, as the original writes it.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void open(std::string_view name) {
    begin_member(name);
    out_ += "{\n";
    ++level_;
    first_ = true;
  }
  void close() {
    --level_;
    out_ += '\n';
    out_.append(level_, '\t');
    out_ += '}';
    first_ = false;
  }
  void number(std::string_view name, double value) {
    begin_member(name);
    append_fixed(out_, value);
  }
  void text(std::string_view name, std::string_view value) {
    begin_member(name);
    append_json_string(out_, value);
  }
  void record() {
    out_ += "\n{\n";
    level_ = 1;
    first_ = true;
  }

 private:
  void begin_member(std::string_view name) {
    if (!first_) out_ += ",\n";
    first_ = false;
    out_.append(level_, '\t');
    append_json_string(out_, name);
    out_ += ": ";
  }

  std::string& out_;
  std::size_t level_ = 0;
  bool first_ = true;
};

void write_group(const Record::Group& group, Writer& json) {
  json.open(group.name);
  for (const Record::Item& item : group.items) json.number(item.name, item.value.value_or(0));
  json.text("unit", group.unit);
  json.close();
}

void write_memory(const Record::Client& client, Writer& json) {
  if (client.memory.empty()) return;
  json.open("memory");
  for (const Record::Region& region : client.memory) {
    json.open(region.name);
    for (std::size_t i = 0; i < region.bytes.size(); ++i) {
      std::string bytes;
      append_number(bytes, region.bytes[i]);
      json.text(kIntelGpuTopMemoryStates[i], bytes);
    }
    json.close();
  }
  json.close();
}

void write_client(const Record::Client& client, Writer& json) {
  json.open(std::to_string(-client.pid));  // 2^32 - PID: how the original names all clients of a process
  json.text("name", client.name);
  json.text("pid", std::to_string(client.pid));
  write_memory(client, json);
  if (client.busy) {
    json.open("engine-classes");
    for (const auto& [title, busy] : *client.busy) {
      std::string text;
      append_fixed(text, busy);
      json.open(title);
      json.text("busy", text);
      json.text("unit", "%");
      json.close();
    }
    json.close();
  }
  json.close();
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
  Writer json(out);
  json.record();
  write_group({"period", "", "ms", {{"duration", "", 0, 0, record.period_ms}}}, json);
  for (const Record::Group& group : record.groups) write_group(group, json);
  json.open("engines");
  for (const Record::Group& engine : record.engines) write_group(engine, json);
  json.close();
  if (record.clients) {
    json.open("clients");
    for (const Record::Client& client : *record.clients) write_client(client, json);
    json.close();
  }
  out += "\n}";
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
