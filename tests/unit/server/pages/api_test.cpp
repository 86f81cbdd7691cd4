// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/doctor/doctor_report.h"
#include "server/pages/routes.h"
#include "support/fake_http.h"
#include "view/format/json_writer.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

constexpr FeatureDescriptor kPmu{"engine_pmu", "Engine time.", Need::perf_events};

class OneGpu final : public ScrapeSource {
 public:
  OneGpu() {
    gpu.address = "0000:03:00.0";
    gpu.name = "</script><b>";
    result = std::make_shared<FakeScrape>();
    add_sample(result->list, kPageDevices, {}, 1);
    result->missing = {{&kPmu, "engines", gpu.address, false, {Reason::permission, 13}, "refused", "setcap x"}};
  }
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest&) override { return result; }
  std::vector<Gpu> gpus() override { return {gpu}; }
  std::vector<std::string> enabled_collectors() const override { return {}; }

  Gpu gpu;
  std::shared_ptr<FakeScrape> result;
};

struct Served {
  OneGpu source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  Api api{metrics, source,
          [](std::span<const Finding> findings) {
            return PlaceOfGrants{"systemd unit",
                                 "x.service",
                                 {{"Run:", {std::to_string(findings.size()) + " to grant"}}},
                                 "1 command grants 1 value:"};
          },
          [this] { return now; }};

  HttpResponse get(const std::string& path, const std::string& query = {}) {
    FakeRequest request;
    request.path_text = path;
    request.query_text = query;
    HttpResponse response;
    api.answer(request, response);
    return response;
  }
};

}  // namespace

TEST_SUITE_BEGIN("api");

TEST_CASE("the snapshot is what stats prints as JSON") {
  Served served;
  const HttpResponse response = served.get("/api/v1/snapshot");
  CHECK(response.content_type == "application/json");
  nlohmann::json answer = nlohmann::json::parse(response.content());
  std::string line;
  write_json_line(PageView(served.source.result->lists()), {}, line);
  nlohmann::json stats = nlohmann::json::parse(line);
  CHECK(answer.at("time").get<double>() > 1.7e9);
  answer.erase("time");
  stats.erase("time");
  CHECK(answer == stats);
}

TEST_CASE("the page's view of a snapshot is of the same reading; there is no other view") {
  Served served;
  const nlohmann::json whole = nlohmann::json::parse(served.get("/api/v1/snapshot").content());
  const nlohmann::json view = nlohmann::json::parse(served.get("/api/v1/snapshot", "view=page").content());
  CHECK(view.at("version") == 1);
  CHECK(view.at("time").get<double>() == doctest::Approx(whole.at("time").get<double>()).epsilon(1e-9));
  CHECK(view.at("gpus").empty());  // the reading has no identity
  for (const char* wrong : {"view=", "view=metrics", "view=page&view=page", "view=page%00"}) {
    CAPTURE(wrong);
    CHECK(served.get("/api/v1/snapshot", wrong).status == 400);
  }
  CHECK(served.get("/api/v1/snapshot", "other=1").status == 200);
}

TEST_CASE("a stream begins with the current reading; the readings after it are those of the snapshot") {
  Served served;
  const HttpResponse snapshot = served.get("/api/v1/snapshot");
  const std::string line(snapshot.content().substr(0, snapshot.content().size() - 1));
  const HttpResponse stream = served.get("/api/v1/stream");
  CHECK(stream.status == 200);
  CHECK(stream.content_type == "text/event-stream");
  CHECK(stream.content() == "data: " + line + "\n\n");
  REQUIRE(stream.subscription);
  CHECK(stream.subscription->interval == std::chrono::seconds(1));
  const Event event = served.api.next_event();  // within the same second: the same reading
  REQUIRE(event.bytes);
  CHECK(*event.bytes == stream.content());
  CHECK(event.made == stream.subscription->made);
}

TEST_CASE("a stream's interval is one to ten seconds") {
  Served served;
  for (const char* right : {"interval=1s", "interval=2500ms", "interval=10s", "other=1"}) {
    CAPTURE(right);
    CHECK(served.get("/api/v1/stream", right).status == 200);
  }
  CHECK(served.get("/api/v1/stream", "interval=2500ms").subscription->interval == std::chrono::milliseconds(2500));
  for (const char* wrong : {"interval=", "interval=0s", "interval=999ms", "interval=11s", "interval=1",
                            "interval=1s&interval=2s", "interval=-1s", "interval=1s%00"}) {
    CAPTURE(wrong);
    const HttpResponse response = served.get("/api/v1/stream", wrong);
    CHECK(response.status == 400);
    CHECK_FALSE(response.subscription);
  }
}

TEST_CASE("slow readers of flights take no room from other addresses") {
  OneGpu source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  const auto flights = std::make_shared<Flights>();
  for (std::size_t i = 0; i < Flights::kMost; ++i) {
    Flight flight;
    const std::size_t size = i == 9 ? Api::kMostOfClient + 1 : 2'600'000;
    flight.faults = {{"0000:03:00.0", std::string(size, 'x'), Nanoseconds(1)}};
    flights->add(std::move(flight));
  }
  Api api(metrics, source, {}, std::chrono::steady_clock::now, flights);
  std::vector<std::shared_ptr<const std::string>> being_sent;
  const auto get = [&](std::size_t number, const std::string& client) {
    FakeRequest request;
    request.path_text = "/api/v1/flights/" + std::to_string(number) + ".jsonl";
    request.client_text = client;
    HttpResponse response;
    api.answer(request, response);
    being_sent.push_back(response.shared_body);
    return response.status;
  };
  const std::string reader = "\x0a\x01\x01\x01", other = "\x0a\x01\x01\x02";
  for (const std::size_t number : {1U, 2U, 3U}) CHECK(get(number, reader) == 200);
  CHECK(get(4, reader) == 503);
  CHECK(get(3, reader) == 200);  // the same bytes
  CHECK(get(4, other) == 200);
  // This host has many addresses, and one budget.
  const std::string local = "\x7f", end("\0\0", 2);
  for (const std::size_t number : {5U, 6U, 7U}) CHECK(get(number, local + end + static_cast<char>(number)) == 200);
  CHECK(get(8, local + end + "\x63") == 503);
  CHECK(get(8, std::string(8, '\0')) == 503);  // ::1
  CHECK(get(8, "") == 503);                    // a UNIX socket
  CHECK(get(8, other) == 200);
  being_sent.clear();
  CHECK(get(9, reader) == 200);
  CHECK(get(10, reader) == 503);  // beyond an address's budget, which is in use
  being_sent.clear();
  CHECK(get(10, reader) == 200);
  CHECK(get(9, reader) == 503);
}

TEST_CASE("there are 64 streams; one that ends makes place, and a refusal names the snapshot") {
  Served served;
  std::vector<HttpResponse> streams;
  for (unsigned i = 0; i < Api::kStreams; ++i) streams.push_back(served.get("/api/v1/stream"));
  const HttpResponse refused = served.get("/api/v1/stream");
  CHECK(refused.status == 503);
  CHECK(refused.content().find("/api/v1/snapshot") != std::string::npos);
  CHECK(served.get("/api/v1/snapshot").status == 200);
  streams.pop_back();
  CHECK(served.get("/api/v1/stream").status == 200);
}

TEST_CASE("the doctor's answer has what doctor --json says of the same machine") {
  Served served;
  const nlohmann::json answer = nlohmann::json::parse(served.get("/api/v1/doctor").content());
  Diagnosis diagnosis;
  diagnosis.gpus = served.source.gpus();
  diagnosis.findings = served.source.result->findings();
  diagnosis.place = {"systemd unit", "x.service", {{"Run:", {"1 to grant"}}}, "1 command grants 1 value:"};
  nlohmann::json command = nlohmann::json::parse(doctor_json(diagnosis));
  for (nlohmann::json& gpu : command.at("gpus")) gpu.erase("advice");  // for which doctor reads files and looks twice
  for (const auto& member : answer.items()) {
    CAPTURE(member.key());
    CHECK(member.value() == command.at(member.key()));
  }
  CHECK(answer.at("missing") == 1);
  CHECK(answer.at("complete") == false);
  CHECK(answer.at("fixes").at(0).at("hint") == "setcap x");
  CHECK(answer.at("place").at("steps").at(0).at("lines").at(0) == "1 to grant");
}

TEST_SUITE_END();
