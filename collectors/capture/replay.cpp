// SPDX-License-Identifier: Apache-2.0
#include "capture/replay.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "capture/pass_time.h"
#include "capture/serve.h"
#include "machine/boot_clock.h"
#include "machine/page_size.h"

namespace igpu::capture {
namespace {

const Answer& nothing() {
  static const Answer answer = absent_answer({Reason::kernel, ENOENT});
  return answer;
}

class Player {
 public:
  explicit Player(std::vector<Pass> passes) : passes_(std::move(passes)), shown_(passes_.front().start) {}

  // Null: it was never asked.
  const Answer* find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto in = [&](std::size_t pass) -> const Answer* {
      const auto known = passes_[pass].answers.find(key);
      return known == passes_[pass].answers.end() ? nullptr : &known->second;
    };
    if (const Answer* answer = in(current_)) {
      if (advances_time(key, *answer)) shown_ = std::max(shown_, answer->at);
      return answer;
    }
    for (std::size_t pass = current_; pass-- > 0;)
      if (const Answer* answer = in(pass)) return answer;
    for (std::size_t pass = current_ + 1; pass < passes_.size(); ++pass)
      if (const Answer* answer = in(pass)) return answer;
    return nullptr;
  }
  const Answer& answer(const std::string& key) {
    const Answer* const found = find(key);
    return found ? *found : nothing();
  }

  void begin_pass() {
    const std::lock_guard lock(mutex_);
    if (current_ + 1 == passes_.size()) return;
    ++current_;
    shown_ = std::max(shown_, passes_[current_].start);
  }

  Nanoseconds now() const {
    const std::lock_guard lock(mutex_);
    return kFirstPass + shown_;
  }

  std::string numbered(const std::string& event) {
    const std::lock_guard lock(mutex_);
    return event + '#' + std::to_string(opened_[event]++);
  }

 private:
  mutable std::mutex mutex_;
  const std::vector<Pass> passes_;
  std::size_t current_ = 0;
  Nanoseconds shown_;
  std::map<std::string, unsigned> opened_;
};

class ReplayFile final : public File {
 public:
  ReplayFile(Player& player, std::string key) : player_(player), key_(std::move(key)) {}
  Reading<std::string_view> read(std::span<char> buffer) override {
    return serve_read(player_.answer(key_), buffer, true);
  }

 private:
  Player& player_;
  const std::string key_;
};

class ReplayDirectory final : public Directory {
 public:
  ReplayDirectory(Player& player, std::string path) : player_(player), path_(std::move(path)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    return serve_read(content(path), buffer, true);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    return serve_read(content(path), buffer, false);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    if (const auto opened = serve_done(opening(path)); !opened) return opened.propagate<std::unique_ptr<File>>();
    return std::unique_ptr<File>(std::make_unique<ReplayFile>(player_, key("read", path)));
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    if (const auto opened = serve_done(player_.answer(key("open", path))); !opened)
      return opened.propagate<std::unique_ptr<Directory>>();
    return std::unique_ptr<Directory>(std::make_unique<ReplayDirectory>(player_, joined(path_, path)));
  }
  Reading<Unit> for_each(std::string_view path,
                         const std::function<bool(std::string_view name)>& visit) const override {
    const Answer& answer = player_.answer(key("list", path));
    if (answer.kind != AnswerKind::names) return negative<Unit>(answer);
    for (const std::string& name : answer.names)
      if (!visit(name)) break;
    return Unit{};
  }
  Reading<std::string> read_link(std::string_view path) const override {
    return serve_link(player_.answer(key("link", path)));
  }
  Reading<std::string> resolve(std::string_view path) const override {
    return serve_link(player_.answer(key("resolve", path)));
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    return serve_facts(player_.answer(key("stat", path)));
  }

 private:
  std::string key(std::string_view word, std::string_view path) const { return question(word, joined(path_, path)); }

  // A file that was read once, or kept open: both are the same to another version of a collector.
  const Answer& content(std::string_view path) const {
    if (const Answer* answer = player_.find(key("read", path))) return *answer;
    return player_.answer(key("open", path));
  }
  const Answer& opening(std::string_view path) const {
    static const Answer opened;
    if (const Answer* answer = player_.find(key("open", path))) return *answer;
    const Answer& read = player_.answer(key("read", path));
    return read.has_content() ? opened : read;
  }

  Player& player_;
  const std::string path_;
};

class ReplayEvent final : public PerfEvent {
 public:
  ReplayEvent(Player& player, std::string name, ReplayEvent* leader) : player_(player), members_{std::move(name)} {
    if (leader) leader->members_.push_back(members_.front());
  }

  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
    if (const Answer* whole = player_.find(question("perf.words", members_.front())))
      return serve(whole->numbers, words);
    std::vector<std::uint64_t> all{members_.size(), 0, 0};
    for (const std::string& member : members_) {
      const Answer& answer = value(member);
      if (answer.kind != AnswerKind::numbers || answer.numbers.size() != 3)
        return negative<std::span<const std::uint64_t>>(answer);
      if (all.size() == 3) std::copy_n(answer.numbers.begin() + 1, 2, all.begin() + 1);
      all.push_back(answer.numbers[0]);
    }
    return serve(all, words);
  }

 private:
  // Of the event that was opened as often as this one; otherwise of the first.
  const Answer& value(const std::string& member) {
    if (const Answer* answer = player_.find(question("perf.read", member))) return *answer;
    return player_.answer(question("perf.read", member.substr(0, member.find('#')) + "#0"));
  }
  static Reading<std::span<const std::uint64_t>> serve(const std::vector<std::uint64_t>& from,
                                                       std::span<std::uint64_t> words) {
    const std::size_t count = std::min(from.size(), words.size());
    std::copy_n(from.begin(), count, words.begin());
    return std::span<const std::uint64_t>(words.first(count));
  }

  Player& player_;
  std::vector<std::string> members_;  // itself and, if it leads, the others
};

class ReplayPerf final : public PerfEvents {
 public:
  explicit ReplayPerf(Player& player) : player_(player) {}
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    const std::string any = event_name(event, cpu);
    std::string name = player_.numbered(any);
    const Answer* answer = player_.find(question("perf.open", name));
    if (!answer) answer = &player_.answer(question("perf.open", any + "#0"));
    if (const auto opened = serve_done(*answer); !opened) return opened.propagate<std::unique_ptr<PerfEvent>>();
    return std::unique_ptr<PerfEvent>(
        std::make_unique<ReplayEvent>(player_, std::move(name), static_cast<ReplayEvent*>(leader)));
  }

 private:
  Player& player_;
};

class ReplayNode final : public DrmNode {
 public:
  ReplayNode(Player& player, std::string name) : player_(player), name_(std::move(name)) {}
  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    const DrmQuestion asked = drm_question(request, argument);
    if (asked.what.empty()) return Failure{std::error_code(EINVAL, std::generic_category()), "ioctl"};
    const Answer* answer = player_.find(question(asked.for_size ? "drm.size" : "drm.query", name_ + '/' + asked.what));
    // Drivers reject queries that they do not know.
    if (!answer) return Failure{std::error_code(EINVAL, std::generic_category()), "ioctl"};
    return serve_drm(*answer, request, argument, asked.for_size);
  }

 private:
  Player& player_;
  const std::string name_;
};

class ReplayDrm final : public DrmNodes {
 public:
  explicit ReplayDrm(Player& player) : player_(player) {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    if (const auto opened = serve_done(player_.answer(question("drm.open", name))); !opened)
      return opened.propagate<std::unique_ptr<DrmNode>>();
    return std::unique_ptr<DrmNode>(std::make_unique<ReplayNode>(player_, std::string(name)));
  }

 private:
  Player& player_;
};

class ReplayClock final : public Clock, public BootClock {
 public:
  explicit ReplayClock(Player& player) : player_(player) {}
  Nanoseconds now() const override { return player_.now(); }
  // Absent: the capture is of an earlier version.
  Reading<Nanoseconds> boot_now() const override {
    const Answer& boot = player_.answer(std::string(kBootTime));
    if (boot.numbers.empty()) return Absent{Reason::kernel, ENODATA};
    return Nanoseconds(boot.numbers.front());
  }

 private:
  Player& player_;
};

class ReplayPrivileges final : public Privileges, public PageSize {
 public:
  explicit ReplayPrivileges(Player& player) : player_(player) {}
  bool has_capability(int number) const override { return number_of("capability " + std::to_string(number)) != 0; }
  std::uint32_t effective_uid() const override { return static_cast<std::uint32_t>(number_of("privilege uid")); }
  bool in_initial_user_namespace() const override { return number_of("privilege initial-user-namespace") != 0; }
  std::uint64_t page_size() const override {
    const Answer* const other = player_.find(std::string(kPageSize));
    return other != nullptr && !other->numbers.empty() ? other->numbers.front() : kUsualPageSize;
  }

 private:
  std::uint64_t number_of(const std::string& key) const {
    const Answer& answer = player_.answer(key);
    return answer.numbers.empty() ? 0 : answer.numbers.front();
  }

  Player& player_;
};

class ReplayNames final : public Names {
 public:
  explicit ReplayNames(Player& player) : player_(player) {}
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    return name_of(pci_question(vendor, device));
  }
  std::string user(std::uint32_t uid) const override { return name_of("user " + std::to_string(uid)); }

 private:
  std::string name_of(const std::string& key) const {
    const Answer& answer = player_.answer(key);
    return answer.kind == AnswerKind::name ? answer.text : std::string();
  }

  Player& player_;
};

}  // namespace

struct Replay::State {
  explicit State(std::vector<Pass> passes)
      : player(std::move(passes)),
        sys(player, "sys"),
        proc(player, "proc"),
        dev(player, "dev"),
        perf(player),
        drm(player),
        clock(player),
        privileges(player),
        names(player),
        machine{sys, proc, dev, perf, drm, clock, privileges, names} {
    machine.client_scan_limit = kClientScanLimit;
    machine.why_no_queue_faults = {Reason::disabled, ENOENT};  // a capture is taken without collector `jobs`
    machine.uevents = channel(kUevents);
    machine.output_uevents = machine.uevents;
    machine.kernel_log = channel(kKernelLog);
  }

  // A capture of an earlier version has none.
  KernelChannel channel(std::string_view key) {
    const Answer* const opened = player.find(std::string(key));
    if (opened == nullptr) return {};
    if (opened->kind == AnswerKind::absent) return {nullptr, {opened->reason, opened->error}};
    return {&no_messages, {}};
  }

  Player player;
  ReplayDirectory sys, proc, dev;
  ReplayPerf perf;
  ReplayDrm drm;
  ReplayClock clock;
  ReplayPrivileges privileges;
  ReplayNames names;
  NoMessages no_messages;
  Machine machine;
};

Replay::Replay(std::vector<Pass> passes) : state_(std::make_unique<State>(std::move(passes))) {}
Replay::~Replay() = default;

Machine& Replay::machine() { return state_->machine; }
void Replay::begin_pass() { state_->player.begin_pass(); }

}  // namespace igpu::capture
