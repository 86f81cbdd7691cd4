// SPDX-License-Identifier: Apache-2.0
#include "trace/job_events.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "support/trace_records.h"

using namespace igpu;
using namespace igpu::test;

namespace {

Reading<JobEventReader> choose(FakeTracepoints& machine, const JobEventOptions& options = {}) {
  return JobEventReader::choose(
      [&](std::string_view system, std::string_view event) { return machine.format(system, event); }, options);
}

std::set<std::string> names(const JobEventReader& reader) {
  std::set<std::string> all;
  for (const JobTracepoint& tracepoint : reader.tracepoints()) all.emplace(tracepoint.event);
  return all;
}

JobEvent decoded(const JobEventReader& reader, RecordBuilder& builder) {
  const auto event = reader.job_event(builder.record());
  REQUIRE(event);
  return *event;
}

const std::set<std::string> kOldScheduler = {"gpu_scheduler/drm_sched_job", "gpu_scheduler/drm_run_job",
                                             "gpu_scheduler/drm_sched_process_job",
                                             "gpu_scheduler/drm_sched_job_wait_dep"};

}  // namespace

TEST_SUITE_BEGIN("job events");

TEST_CASE("the scheduler's older events: the key is the fence's address") {
  FakeTracepoints machine(kOldScheduler);
  auto reader = choose(machine);
  REQUIRE(reader);
  CHECK(names(*reader) ==
        std::set<std::string>{"drm_sched_job", "drm_run_job", "drm_sched_process_job", "drm_sched_job_wait_dep"});
  CHECK(reader->tracepoints().back().event == "drm_sched_job");  // opened last

  RecordBuilder submitted("gpu_scheduler", "drm_sched_job");
  submitted.set("fence", std::uint64_t{0xffff8881})
      .set("entity", std::uint64_t{0xffff9990})
      .set("id", std::uint64_t{12});
  submitted.set("name", "rcs7").by(40, 41).at_time(1000);
  const JobEvent event = decoded(*reader, submitted);
  CHECK(event.kind == JobEventKind::submitted);
  CHECK(event.source == JobSource::drm_sched);
  CHECK(event.key == JobKey{0, 0xffff8881});
  CHECK(event.context == 0xffff9990);
  CHECK(event.number == 12);
  CHECK(event.ring.view() == "rcs7");
  CHECK(event.engine_class == JobClass::render);
  CHECK(event.instance == -1);
  CHECK(event.pid == 40);
  CHECK(event.tid == 41);
  CHECK(event.time_ns == 1000);

  RecordBuilder ended("gpu_scheduler", "drm_sched_process_job");
  ended.set("fence", std::uint64_t{0xffff8881}).in_interrupt();
  CHECK(decoded(*reader, ended).key == event.key);
  CHECK(decoded(*reader, ended).in_interrupt);

  RecordBuilder wait("gpu_scheduler", "drm_sched_job_wait_dep");
  wait.set("name", "rcs7").set("id", std::uint64_t{12}).set("fence", std::uint64_t{0xffff7771});
  const JobEvent waits = decoded(*reader, wait);
  CHECK(waits.kind == JobEventKind::dependency);
  CHECK(waits.key == JobKey{});
  CHECK(waits.ring.view() == "rcs7");
  CHECK(waits.number == 12);
  CHECK(waits.other == JobKey{0, 0xffff7771});
}

TEST_CASE("the scheduler's newer events win where both are there") {
  FakeTracepoints machine({"gpu_scheduler/*"});
  auto reader = choose(machine);
  REQUIRE(reader);
  CHECK(names(*reader) == std::set<std::string>{"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done",
                                                "drm_sched_job_add_dep"});
  RecordBuilder submitted("gpu_scheduler", "drm_sched_job_queue");
  submitted.set("fence_context", std::uint64_t{1} << 40).set("fence_seqno", std::uint64_t{3});
  submitted.set("name", "vcs2").set("dev", "0000:03:00.0").set("client_id", std::uint64_t{17});
  const JobEvent event = decoded(*reader, submitted);
  CHECK(event.key == JobKey{std::uint64_t{1} << 40, 3});
  CHECK(event.device.view() == "0000:03:00.0");
  CHECK(event.client == 17);
  CHECK(event.engine == 0);  // several engines of this class
  RecordBuilder dependency("gpu_scheduler", "drm_sched_job_add_dep");
  dependency.set("fence_context", std::uint64_t{5}).set("fence_seqno", std::uint64_t{6});
  dependency.set("ctx", std::uint64_t{7}).set("seqno", std::uint64_t{8});
  CHECK(decoded(*reader, dependency).key == JobKey{5, 6});
  CHECK(decoded(*reader, dependency).other == JobKey{7, 8});

  auto older = choose(machine, {.only = {JobLayout::drm_sched_old}});
  REQUIRE(older);
  CHECK(names(*older).contains("drm_sched_job"));
  CHECK_FALSE(names(*older).contains("drm_sched_job_queue"));
}

TEST_CASE("an event of that name with other fields is not taken for it") {
  FakeTracepoints machine({"gpu_scheduler/drm_sched_job"});
  const auto formats = [&](std::string_view system, std::string_view event) -> Reading<TraceFormat> {
    auto format = machine.format(system, event);
    if (format) std::erase_if(format->fields, [](const TraceField& field) { return field.name == "fence"; });
    return format;
  };
  CHECK_FALSE(JobEventReader::choose(formats));
}

TEST_CASE("rings of one class share an engine, except where the class has several or the card is unknown") {
  FakeTracepoints machine(kOldScheduler);
  const auto engine = [](const JobEventReader& reader, const char* ring) {
    RecordBuilder submitted("gpu_scheduler", "drm_sched_job");
    submitted.set("name", ring);
    return reader.job_event(submitted.record())->engine;
  };
  auto one_card = choose(machine);
  CHECK(engine(*one_card, "rcs1") == engine(*one_card, "rcs7"));
  CHECK(engine(*one_card, "rcs1") != engine(*one_card, "ccs1"));
  CHECK(engine(*one_card, "vcs1") == 0);
  CHECK(engine(*one_card, "vecs1") == 0);
  CHECK(engine(*one_card, "gfx_0.0.0") != engine(*one_card, "sdma0"));
  auto several = choose(machine, {.only = {}, .several_cards = true});
  CHECK(engine(*several, "rcs1") == 0);
  CHECK(engine(*several, "sdma0") != 0);
}

TEST_CASE("xe's errors name the queue") {
  FakeTracepoints machine({"gpu_scheduler/*", "xe/xe_exec_queue_reset"});
  auto reader = choose(machine);
  REQUIRE(reader);
  RecordBuilder reset("xe", "xe_exec_queue_reset");
  reset.set("dev", "0000:03:00.0").set("class", std::uint64_t{1}).set("guc_id", std::uint64_t{7});
  const JobEvent event = decoded(*reader, reset);
  CHECK(event.kind == JobEventKind::error);
  CHECK(event.queue_number == 7);
  CHECK(event.engine_class == JobClass::video);
  CHECK(event.device.view() == "0000:03:00.0");
  CHECK(event.key == JobKey{});
}

TEST_CASE("i915: engines by class and instance, keys of 32 bits, retirement") {
  FakeTracepoints machine({"i915/i915_request_queue", "i915/i915_request_retire", "dma_fence/dma_fence_signaled"});
  auto reader = choose(machine);
  REQUIRE(reader);
  RecordBuilder submitted("i915", "i915_request_queue");
  submitted.set("dev", std::uint64_t{1}).set("ctx", std::uint64_t{0x100000005}).set("seqno", std::uint64_t{9});
  submitted.set("class", std::uint64_t{2}).set("instance", std::uint64_t{1});
  const JobEvent event = decoded(*reader, submitted);
  CHECK(event.source == JobSource::i915);
  CHECK(event.key == JobKey{5, 9});
  CHECK(event.context == 0x100000005);
  CHECK(event.engine_class == JobClass::video);
  CHECK(event.instance == 1);
  CHECK(event.ring.view() == "vcs1");
  CHECK(event.device.view() == "card1");
  CHECK(event.engine != 0);

  RecordBuilder signaled("dma_fence", "dma_fence_signaled");
  signaled.set("context", std::uint64_t{5}).set("seqno", std::uint64_t{9}).in_interrupt();
  CHECK(decoded(*reader, signaled).key == event.key);
  CHECK(decoded(*reader, signaled).kind == JobEventKind::ended);
  RecordBuilder retired("i915", "i915_request_retire");
  retired.set("ctx", std::uint64_t{0x100000005}).set("seqno", std::uint64_t{9});
  CHECK(decoded(*reader, retired).kind == JobEventKind::retired);
  CHECK(decoded(*reader, retired).key == event.key);
}

TEST_CASE("i915 with low-level events: in hands over, out ends or preempts") {
  FakeTracepoints machine({"i915/*", "dma_fence/dma_fence_signaled"});
  auto reader = choose(machine);
  REQUIRE(reader);
  CHECK(names(*reader).contains("i915_request_in"));
  RecordBuilder out("i915", "i915_request_out");
  CHECK(decoded(*reader, out).kind == JobEventKind::preempted);
  out.set("completed", std::uint64_t{1});
  CHECK(decoded(*reader, out).kind == JobEventKind::ended);
}

TEST_CASE("virtio-gpu: only commands with a fence are jobs; newer kernels number all commands") {
  FakeTracepoints machine({"virtio_gpu/*"});
  auto reader = choose(machine);
  REQUIRE(reader);
  RecordBuilder queued("virtio_gpu", "virtio_gpu_cmd_queue");
  CHECK_FALSE(reader->job_event(queued.record()));
  queued.set("fence_id", std::uint64_t{4}).set("dev", std::uint64_t{1});
  const JobEvent event = decoded(*reader, queued);
  CHECK(event.source == JobSource::virtio_gpu);
  CHECK(event.ring.view() == "control");
  CHECK(event.key.seqno == 4);
  RecordBuilder response("virtio_gpu", "virtio_gpu_cmd_response");
  response.set("fence_id", std::uint64_t{4}).set("dev", std::uint64_t{1});
  CHECK(decoded(*reader, response).key == event.key);

  const auto newer = [&](std::string_view system, std::string_view name) -> Reading<TraceFormat> {
    auto format = machine.format(system, name);
    if (format) format->fields.push_back({.name = "seqno", .offset = 44, .size = 4});
    return format;
  };
  auto numbered = JobEventReader::choose(newer);
  REQUIRE(numbered);
  RecordBuilder command(*newer("virtio_gpu", "virtio_gpu_cmd_queue"));
  command.set("seqno", std::uint64_t{6});
  CHECK(decoded(*numbered, command).key.seqno == 6);
}

TEST_CASE("waits are read when asked for, from dma_fence and from i915") {
  FakeTracepoints machine({"i915/*", "dma_fence/*"});
  CHECK_FALSE(names(*choose(machine)).contains("dma_fence_wait_start"));
  auto reader = choose(machine, {.only = {}, .waits = true});
  REQUIRE(reader);
  RecordBuilder begins("i915", "i915_request_wait_begin");
  begins.set("ctx", std::uint64_t{5}).set("seqno", std::uint64_t{9}).by(40, 41);
  CHECK_FALSE(reader->job_event(begins.record()));
  const auto begin = reader->wait_event(begins.record());
  REQUIRE(begin);
  CHECK(begin->begins);
  CHECK(begin->tid == 41);
  CHECK(begin->fence == JobKey{5, 9});
  RecordBuilder ends("dma_fence", "dma_fence_wait_end");
  CHECK_FALSE(reader->wait_event(ends.record())->begins);
}

TEST_CASE("a machine whose drivers report no jobs, and one that does not show its events") {
  FakeTracepoints none({"dma_fence/*", "xe/*"});
  auto reader = choose(none);
  REQUIRE(reader.is_absent());
  CHECK(reader.absent().reason == Reason::kernel);
  FakeTracepoints denied({"gpu_scheduler/*"});
  denied.denied = true;
  auto refused = choose(denied);
  REQUIRE(refused.is_absent());
  CHECK(refused.absent().reason == Reason::permission);
}

TEST_CASE("records of other events are known as such") {
  FakeTracepoints machine(kOldScheduler);
  auto reader = choose(machine);
  RecordBuilder other("sched", "sched_switch");
  CHECK_FALSE(reader->reads(other.record()));
  CHECK_FALSE(reader->job_event(other.record()));
}

TEST_CASE("layouts have names") {
  for (std::size_t i = 0; i < kJobLayouts; ++i) {
    const auto layout = static_cast<JobLayout>(i);
    CHECK(job_layout_named(to_string(layout)) == layout);
  }
  CHECK_FALSE(job_layout_named("drm"));
}
