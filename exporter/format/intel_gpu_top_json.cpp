// SPDX-License-Identifier: Apache-2.0
#include "format/intel_gpu_top_json.h"

#include <cstddef>
#include <string_view>

#include "format/json_writer.h"
#include "format/number.h"

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

}  // namespace igpu::exporter
