// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder.h"

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "capture/pass_time.h"
#include "capture/serve.h"
#include "machine/boot_clock.h"
#include "machine/page_size.h"

namespace igpu::capture {
namespace {

using Find = std::optional<Answer>;

// The passes, and the clock that they define.
class Keeper {
 public:
  explicit Keeper(const Clock& clock) : clock_(clock), begin_(clock.now()) {
    passes_.emplace_back();
    keep_boot_time();
  }

  Find find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto known = passes_.back().answers.find(key);
    return known == passes_.back().answers.end() ? Find() : known->second;
  }

  // The answer of this pass: the first one, unless that had been cut off or did not fit.
  Answer keep(const std::string& key, Answer answer) {
    const std::lock_guard lock(mutex_);
    if (closed_) return answer;
    Answers& answers = passes_.back().answers;
    const auto known = answers.find(key);
    if (known != answers.end() && is_final(known->second)) return known->second;
    if (advances_time(key, answer)) shown_ = std::max(shown_, clock_.now() - begin_);
    answer.at = shown_;
    answers.insert_or_assign(key, answer);
    bytes_ += key.size() + answer.text.size() + 64;
    for (const std::string& name : answer.names) bytes_ += name.size() + 1;
    return answer;
  }

  static bool is_final(const Answer& answer) {
    return answer.kind != AnswerKind::cut && !(answer.kind == AnswerKind::failure && answer.error == EFBIG);
  }

  void begin_pass() {
    const std::lock_guard lock(mutex_);
    Pass pass;
    pass.start = shown_ = std::max(shown_, clock_.now() - begin_);
    passes_.push_back(std::move(pass));
    keep_boot_time();
  }

  // The limit in time works also while nothing is read that the clock knows.
  Nanoseconds now() {
    const std::lock_guard lock(mutex_);
    const Nanoseconds time = clock_.now() - begin_;
    if (time > shown_ + kClientScanLimit) shown_ = time;
    return kFirstPass + shown_;
  }

  Reading<Nanoseconds> boot_now() const {
    const Find boot = find(std::string(kBootTime));
    if (!boot || boot->numbers.empty()) return Absent{Reason::kernel, ENODATA};
    return Nanoseconds(boot->numbers.front());
  }

  // Distinguishes events that are opened more than once.
  std::string numbered(const std::string& event) {
    const std::lock_guard lock(mutex_);
    return event + '#' + std::to_string(opened_[event]++);
  }

  std::vector<Pass> take_passes() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::vector<Pass> taken = std::exchange(passes_, {});
    passes_.emplace_back();
    return taken;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  // One for each pass, as on replay.
  void keep_boot_time() {
    const auto now = igpu::boot_now(clock_);
    if (!now) return;
    Answer boot;
    boot.kind = AnswerKind::numbers;
    boot.at = shown_;
    boot.numbers = {static_cast<std::uint64_t>(now->count())};
    passes_.back().answers.insert_or_assign(std::string(kBootTime), std::move(boot));
  }

  const Clock& clock_;
  const Nanoseconds begin_;
  mutable std::mutex mutex_;
  std::vector<Pass> passes_;
  Nanoseconds shown_{};
  std::map<std::string, unsigned> opened_;
  bool closed_ = false;
  std::atomic<std::size_t> bytes_ = 0;
};

// Answers of this pass first.
Answer ask(Keeper& keeper, const std::string& key, const std::function<Answer()>& inner) {
  if (Find known = keeper.find(key); known && Keeper::is_final(*known)) return *std::move(known);
  return keeper.keep(key, inner());
}

Answer read_answer(const Reading<std::string_view>& text, bool full) {
  if (!text) return negative(text);
  Answer answer;
  answer.kind = full ? AnswerKind::cut : AnswerKind::content;
  answer.text = *text;
  return answer;
}

class RecordingFile final : public File {
 public:
  RecordingFile(Keeper& keeper, std::unique_ptr<File> inner, std::string key)
      : keeper_(keeper), inner_(std::move(inner)), key_(std::move(key)) {}
  Reading<std::string_view> read(std::span<char> buffer) override {
    return serve_read(ask(keeper_, key_, [&] { return read_answer(inner_->read(buffer), false); }), buffer, true);
  }

 private:
  Keeper& keeper_;
  std::unique_ptr<File> inner_;
  const std::string key_;
};

class RecordingDirectory final : public Directory {
 public:
  RecordingDirectory(Keeper& keeper, Directory& inner, std::string path)
      : keeper_(keeper), inner_(inner), path_(std::move(path)) {}
  RecordingDirectory(Keeper& keeper, std::unique_ptr<Directory> inner, std::string path)
      : keeper_(keeper), owned_(std::move(inner)), inner_(*owned_), path_(std::move(path)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    const auto inner = [&] { return read_answer(inner_.read(path, buffer), false); };
    return serve_read(ask(keeper_, key("read", path), inner), buffer, true);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    const auto inner = [&] {
      const auto text = inner_.read_start(path, buffer);
      return read_answer(text, text && text->size() == buffer.size());
    };
    return serve_read(ask(keeper_, key("read", path), inner), buffer, false);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    auto inner = inner_.open(path);
    keep_opened(path, inner);
    if (!inner) return inner;
    return std::unique_ptr<File>(std::make_unique<RecordingFile>(keeper_, *std::move(inner), key("read", path)));
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto inner = inner_.open_directory(path);
    keep_opened(path, inner);
    if (!inner) return inner;
    return std::unique_ptr<Directory>(
        std::make_unique<RecordingDirectory>(keeper_, *std::move(inner), joined(path_, path)));
  }
  Reading<Unit> for_each(std::string_view path,
                         const std::function<bool(std::string_view name)>& visit) const override {
    const Answer answer = ask(keeper_, key("list", path), [&] {
      Answer names;
      names.kind = AnswerKind::names;
      const auto listed = inner_.for_each(path, [&](std::string_view name) {
        names.names.emplace_back(name);
        return true;
      });
      return listed ? names : negative(listed);
    });
    if (answer.kind != AnswerKind::names) return negative<Unit>(answer);
    for (const std::string& name : answer.names)
      if (!visit(name)) break;
    return Unit{};
  }
  Reading<std::string> read_link(std::string_view path) const override {
    return serve_link(ask(keeper_, key("link", path), [&] { return link_answer(inner_.read_link(path)); }));
  }
  Reading<std::string> resolve(std::string_view path) const override {
    return serve_link(ask(keeper_, key("resolve", path), [&] { return link_answer(inner_.resolve(path)); }));
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    return serve_facts(ask(keeper_, key("stat", path), [&] {
      const auto facts = inner_.stat(path);
      return facts ? answer_of(*facts) : negative(facts);
    }));
  }

 private:
  std::string key(std::string_view word, std::string_view path) const { return question(word, joined(path_, path)); }
  static Answer link_answer(const Reading<std::string>& link) {
    if (!link) return negative(link);
    Answer answer;
    answer.kind = AnswerKind::link;
    answer.text = *link;
    return answer;
  }
  template <class T>
  void keep_opened(std::string_view path, const Reading<T>& opened) const {
    (void)keeper_.keep(key("open", path), opened ? Answer() : negative(opened));
  }

  Keeper& keeper_;
  std::unique_ptr<Directory> owned_;
  Directory& inner_;
  const std::string path_;
};

class RecordingEvent final : public PerfEvent {
 public:
  RecordingEvent(Keeper& keeper, std::unique_ptr<PerfEvent> inner, std::string name, RecordingEvent* leader)
      : keeper_(keeper), inner_(std::move(inner)), members_{std::move(name)} {
    if (leader) leader->members_.push_back(members_.front());
  }
  PerfEvent* inner() { return inner_.get(); }

  // The values of all members are kept one by one, with the two times of the group.
  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
    const auto read = inner_->read(words);
    if (!read) {
      (void)keeper_.keep(question("perf.read", members_.front()), negative(read));
      return read;
    }
    if (read->size() != 3 + members_.size() || (*read)[0] != members_.size()) {
      (void)keeper_.keep(question("perf.words", members_.front()), numbers({read->begin(), read->end()}));
      return read;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Answer kept = keeper_.keep(question("perf.read", members_[i]), numbers({words[3 + i], words[1], words[2]}));
      if (kept.kind != AnswerKind::numbers) continue;
      words[3 + i] = kept.numbers[0];
      if (i == 0) std::copy_n(kept.numbers.begin() + 1, 2, words.begin() + 1);
    }
    return read;
  }

 private:
  static Answer numbers(std::vector<std::uint64_t> values) {
    Answer answer;
    answer.kind = AnswerKind::numbers;
    answer.numbers = std::move(values);
    return answer;
  }

  Keeper& keeper_;
  std::unique_ptr<PerfEvent> inner_;
  std::vector<std::string> members_;  // itself and, if it leads, the others
};

class RecordingPerf final : public PerfEvents {
 public:
  RecordingPerf(Keeper& keeper, PerfEvents& inner) : keeper_(keeper), inner_(inner) {}
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    auto* const group = static_cast<RecordingEvent*>(leader);
    std::string name = keeper_.numbered(event_name(event, cpu));
    auto opened = inner_.open(event, cpu, group ? group->inner() : nullptr);
    (void)keeper_.keep(question("perf.open", name), opened ? Answer() : negative(opened));
    if (!opened) return opened;
    return std::unique_ptr<PerfEvent>(
        std::make_unique<RecordingEvent>(keeper_, *std::move(opened), std::move(name), group));
  }

 private:
  Keeper& keeper_;
  PerfEvents& inner_;
};

class RecordingNode final : public DrmNode {
 public:
  RecordingNode(Keeper& keeper, std::unique_ptr<DrmNode> inner, std::string name)
      : keeper_(keeper), inner_(std::move(inner)), name_(std::move(name)) {}
  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    const DrmQuestion asked = drm_question(request, argument);
    if (asked.what.empty()) return inner_->ioctl(request, argument);
    const std::string key = question(asked.for_size ? "drm.size" : "drm.query", name_ + '/' + asked.what);
    const Answer answer = ask(keeper_, key, [&] {
      const auto done = inner_->ioctl(request, argument);
      return done ? drm_answer(request, argument, asked.for_size) : negative(done);
    });
    return serve_drm(answer, request, argument, asked.for_size);
  }

 private:
  Keeper& keeper_;
  std::unique_ptr<DrmNode> inner_;
  const std::string name_;
};

class RecordingDrm final : public DrmNodes {
 public:
  RecordingDrm(Keeper& keeper, DrmNodes& inner) : keeper_(keeper), inner_(inner) {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    auto opened = inner_.open(name);
    (void)keeper_.keep(question("drm.open", name), opened ? Answer() : negative(opened));
    if (!opened) return opened;
    return std::unique_ptr<DrmNode>(std::make_unique<RecordingNode>(keeper_, *std::move(opened), std::string(name)));
  }

 private:
  Keeper& keeper_;
  DrmNodes& inner_;
};

class RecordingClock final : public Clock, public BootClock {
 public:
  explicit RecordingClock(Keeper& keeper) : keeper_(keeper) {}
  Nanoseconds now() const override { return keeper_.now(); }
  Reading<Nanoseconds> boot_now() const override { return keeper_.boot_now(); }

 private:
  Keeper& keeper_;
};

class RecordingPrivileges final : public Privileges, public PageSize {
 public:
  RecordingPrivileges(Keeper& keeper, const Machine& inner)
      : keeper_(keeper), inner_(inner.privileges), page_size_(igpu::page_size(inner)) {}
  bool has_capability(int number) const override {
    return ask_number("capability " + std::to_string(number), [&] { return inner_.has_capability(number); }) != 0;
  }
  std::uint32_t effective_uid() const override {
    return static_cast<std::uint32_t>(ask_number("privilege uid", [&] { return inner_.effective_uid(); }));
  }
  bool in_initial_user_namespace() const override {
    return ask_number("privilege initial-user-namespace", [&] { return inner_.in_initial_user_namespace(); }) != 0;
  }
  std::uint64_t page_size() const override {
    return page_size_ == kUsualPageSize ? page_size_ : ask_number(std::string(kPageSize), [&] { return page_size_; });
  }

 private:
  template <class F>
  std::uint64_t ask_number(const std::string& key, F&& inner) const {
    const Answer answer = ask(keeper_, key, [&] {
      Answer number;
      number.kind = AnswerKind::numbers;
      number.numbers = {static_cast<std::uint64_t>(inner())};
      return number;
    });
    return answer.numbers.front();
  }

  Keeper& keeper_;
  const Privileges& inner_;
  const std::uint64_t page_size_;
};

class RecordingNames final : public Names {
 public:
  RecordingNames(Keeper& keeper, const Names& inner) : keeper_(keeper), inner_(inner) {}
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    return ask_name(pci_question(vendor, device), [&] { return inner_.pci_device(vendor, device); });
  }
  std::string user(std::uint32_t uid) const override {
    return ask_name("user " + std::to_string(uid), [&] { return inner_.user(uid); });
  }

 private:
  template <class F>
  std::string ask_name(const std::string& key, F&& inner) const {
    return ask(keeper_, key,
               [&] {
                 Answer name;
                 name.kind = AnswerKind::name;
                 name.text = inner();
                 return name;
               })
        .text;
  }

  Keeper& keeper_;
  const Names& inner_;
};

}  // namespace

struct Recorder::State {
  explicit State(Machine& inner)
      : keeper(inner.clock),
        sys(keeper, inner.sys, "sys"),
        proc(keeper, inner.proc, "proc"),
        dev(keeper, inner.dev, "dev"),
        perf(keeper, inner.perf),
        drm(keeper, inner.drm),
        clock(keeper),
        privileges(keeper, inner),
        names(keeper, inner.names),
        machine{sys, proc, dev, perf, drm, clock, privileges, names} {
    machine.client_scan_limit = kClientScanLimit;
    machine.why_no_queue_faults = {Reason::disabled, ENOENT};  // likewise when it is replayed
    machine.uevents = keep_channel(kUevents, inner.uevents);
    machine.output_uevents = without_messages(inner.output_uevents);  // as uevents, when it is replayed
    machine.kernel_log = keep_channel(kKernelLog, inner.kernel_log);
  }

  KernelChannel keep_channel(std::string_view key, const KernelChannel& channel) {
    const bool is_open = channel.messages != nullptr;
    (void)keeper.keep(std::string(key), is_open ? Answer() : absent_answer(channel.why));
    return without_messages(channel);
  }
  KernelChannel without_messages(const KernelChannel& channel) {
    return {channel.messages != nullptr ? &no_messages : nullptr, channel.why};
  }

  Keeper keeper;
  RecordingDirectory sys, proc, dev;
  RecordingPerf perf;
  RecordingDrm drm;
  RecordingClock clock;
  RecordingPrivileges privileges;
  RecordingNames names;
  NoMessages no_messages;
  Machine machine;
};

Recorder::Recorder(Machine& inner) : state_(std::make_unique<State>(inner)) {}
Recorder::~Recorder() = default;

Machine& Recorder::machine() { return state_->machine; }
void Recorder::begin_pass() { state_->keeper.begin_pass(); }
std::vector<Pass> Recorder::take_passes() { return state_->keeper.take_passes(); }
std::size_t Recorder::bytes() const { return state_->keeper.bytes(); }

}  // namespace igpu::capture
