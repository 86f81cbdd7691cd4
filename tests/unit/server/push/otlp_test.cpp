// SPDX-License-Identifier: Apache-2.0
// The end-to-end test decodes whole requests; here are single bytes, and time.
#include "server/push/otlp.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#include "igpu/monitor.h"

using namespace igpu::exporter;
using igpu::Kind;
using igpu::PageView;
using igpu::SampleList;
using namespace std::string_literals;

namespace {

constexpr igpu::Metric<igpu::Count, 1> kCounter{"test_things_total", Kind::counter, "Things.", {"device"}};
constexpr std::array kBounds{1.0, 2.0};
constexpr igpu::HistogramMetric<igpu::Seconds, 1, 2> kHistogram{"test_wait_seconds", "Wait.", {"class"}, kBounds};

std::chrono::system_clock::time_point at(std::uint64_t nanoseconds) {
  return std::chrono::system_clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

std::string fixed64(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

std::string real(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return fixed64(bits);
}

std::string counter_at(OtlpEncoder& encoder, double value, std::uint64_t time) {
  SampleList list;
  const std::array<std::string_view, 1> labels{"0000:03:00.0"};
  list.add(kCounter, labels, value);
  const std::array<const SampleList*, 1> lists{&list};
  std::string out;
  CHECK(encoder.encode(PageView(lists), at(time), out) == 1);
  return out;
}

// Start, time and value of a number's point.
bool has_point(const std::string& bytes, std::uint64_t start, std::uint64_t time, double value) {
  return bytes.find("\x11" + fixed64(start) + "\x19" + fixed64(time) + "\x21" + real(value)) != std::string::npos;
}

}  // namespace

TEST_SUITE_BEGIN("otlp");

TEST_CASE("a counter starts at its first point, and again where it falls") {
  OtlpEncoder encoder({}, "scope", "1");
  CHECK(has_point(counter_at(encoder, 5, 100), 100, 100, 5));
  CHECK(has_point(counter_at(encoder, 7, 200), 100, 200, 7));
  CHECK(has_point(counter_at(encoder, 1, 300), 200, 300, 1));
  CHECK(has_point(counter_at(encoder, 1, 400), 200, 400, 1));
}

TEST_CASE("a clock that is set back makes no series start after its point") {
  OtlpEncoder encoder({}, "scope", "1");
  CHECK(has_point(counter_at(encoder, 5, 1000), 1000, 1000, 5));
  CHECK(has_point(counter_at(encoder, 6, 400), 400, 400, 6));
  CHECK(has_point(counter_at(encoder, 7, 500), 400, 500, 7));
}

TEST_CASE("a series that went and came back starts anew, and nothing of the others is kept") {
  OtlpEncoder encoder({}, "scope", "1");
  (void)counter_at(encoder, 5, 100);
  const PageView empty({});
  std::string out = "old";
  CHECK(encoder.encode(empty, at(200), out) == 0);
  CHECK(out.empty());
  CHECK(has_point(counter_at(encoder, 6, 300), 300, 300, 6));
}

TEST_CASE("a histogram has a count for each bucket and one above") {
  OtlpEncoder encoder({{"host.name", "h"}}, "scope", "1");
  SampleList list;
  const std::array<std::uint64_t, 3> counts{4, 0, 2};
  const std::array<std::string_view, 1> labels{"copy"};
  list.add(kHistogram, labels, counts, 9.5);
  const std::array<const SampleList*, 1> lists{&list};
  std::string out;
  CHECK(encoder.encode(PageView(lists), at(100), out) == 1);
  const std::string point = "\x11" + fixed64(100) + "\x19" + fixed64(100) + "\x21" + fixed64(6) + "\x29" + real(9.5) +
                            "\x32\x18" + fixed64(4) + fixed64(0) + fixed64(2) + "\x3a\x10" + real(1) + real(2);
  CHECK(out.find(point) != std::string::npos);
  CHECK(out.find("host.name") != std::string::npos);
  CHECK(out.find("\x10\x02") != std::string::npos);  // cumulative
}

TEST_CASE("every row of the conventions is of a metric that exists, with labels that it has, and of its unit") {
  std::size_t seen = 0;
  for (const igpu::CollectorDescription& collector : igpu::describe_collectors()) {
    for (const igpu::MetricDescriptor* metric : collector.metrics) {
      std::set<std::string_view> asked;
      const Convention* const row = convention_of(metric->name, [&](std::string_view label) {
        asked.insert(label);
        return std::string_view();
      });
      const std::set<std::string_view> labels(metric->label_names.begin(),
                                              metric->label_names.begin() + metric->label_count);
      for (const std::string_view label : asked) CHECK(labels.contains(label));
      if (row == nullptr && asked.empty()) {
        CAPTURE(metric->unit);
        CHECK((metric->unit.empty() || !ucum_unit(*metric).empty()));
        continue;
      }
      ++seen;
      if (row == nullptr) continue;
      CAPTURE(metric->name);
      CHECK((row->renamed.empty() || labels.contains(row->renamed)));
      CHECK((row->instrument == Instrument::counter) == (metric->kind == Kind::counter));
      if (!metric->unit.empty()) CHECK(row->unit == ucum_unit(*metric));
    }
  }
  CHECK(seen == 9);  // the metrics of the table
}

TEST_CASE("a domain of energy is of the part that it measures") {
  const auto type_of = [](std::string_view domain, std::string_view source) {
    const Convention* const row = convention_of("intel_gpu_energy_joules_total", [&](std::string_view label) {
      return label == "domain" ? domain : label == "source" ? source : "";
    });
    REQUIRE(row != nullptr);
    return std::string(row->name) + " " + std::string(row->attributes[0].value);
  };
  CHECK(type_of("card", "hwmon") == "hw.energy gpu");
  CHECK(type_of("package", "hwmon") == "hw.energy gpu");
  CHECK(type_of("gpu", "rapl_pmu") == "hw.energy gpu");
  CHECK(type_of("package", "rapl_pmu") == "hw.energy cpu");
  CHECK(type_of("dram", "powercap") == "hw.energy memory");
  CHECK(type_of("psys", "powercap") == "hw.host.energy ");
}

TEST_CASE("answers of receivers") {
  const OtlpResponse partial = parse_export_response("\x0a\x09\x08\xac\x02\x12\x04late"s);
  CHECK(partial.rejected == 300);
  CHECK(partial.message == "late");
  CHECK(parse_export_response("").rejected == 0);
  CHECK(parse_status("\x08\x03\x12\x03"s + "bad\x1a\x00"s).message == "bad");
}

TEST_CASE("answers that are none: cut off, of other types, negative, hostile") {
  for (const std::string& body :
       {"\x0a"s, "\x0a\x7f\x08"s, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "<html>"s,
        "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x0d\x01\x02\x03\x04"s, "\x0f"s, "\x09\x01"s}) {
    CHECK(parse_export_response(body).rejected == 0);
    CHECK(parse_status(body).message.empty());
  }
  CHECK(parse_status("\x12\x05"s + "a\nb\x1b["s).message == "a?b?[");
  const PushCredentials token = parse_credentials("Authorization: Bearer t0ken\nX-Key: k3y\n");
  CHECK(without_credentials("Bearer t0ken; not t0ken, k3y and k3y?", token) == "***; not ***, *** and ***?");
  const PushCredentials user = parse_credentials("me:s:cret");
  CHECK(without_credentials("me or s:cret or Basic bWU6czpjcmV0", user) == "me or *** or Basic ***");
  CHECK(without_credentials("unchanged", {}) == "unchanged");
  for (const char* const name_and_password : {"ab:c", "ab:cd", "ab:cde"}) {  // each length of the last digits
    const std::string basic = name_and_password == "ab:c"s    ? "YWI6Yw=="
                              : name_and_password == "ab:cd"s ? "YWI6Y2Q="
                                                              : "YWI6Y2Rl";
    CHECK(without_credentials("<" + basic + ">", parse_credentials(name_and_password)) == "<***>");
  }
  // Not even a part of it, where the message is cut.
  const std::string long_echo = std::string(195, 'x') + "t0ken" + std::string(10, 'x');
  CHECK(parse_status("\x12\xd2\x01"s + long_echo, token).message.find("t0k") == std::string::npos);
  CHECK(parse_status("\x12\xac\x02"s + std::string(300, 'x')).message.size() <= 200);
}

TEST_SUITE_END();
