// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/asked_machine.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "fake/capture/answers.h"
#include "kernel/device/drm_calls.h"

namespace igpu::capture {
namespace {

// Of a file: the reader wants no more than the start if it is full.
Answer read_answer(const Reading<std::string_view>& text, bool is_full) {
  return text ? text_answer(is_full ? AnswerKind::cut : AnswerKind::content, *text) : negative(text);
}

Answer link_answer(const Reading<std::string>& link) {
  return link ? text_answer(AnswerKind::link, *link) : negative(link);
}

Answer facts_answer(const Reading<FileFacts>& facts) {
  if (!facts) return negative(facts);
  return numbers_answer({facts->mode, facts->uid, facts->rdev, facts->inode, facts->size,
                         static_cast<std::uint64_t>(facts->modified.count())});
}

// As Directory::read (whole) or read_start.
Reading<std::string_view> serve_read(const Answer& answer, std::span<char> buffer, bool whole) {
  if (!answer.has_content()) return negative<std::string_view>(answer);
  const std::size_t size = std::min(answer.text.size(), buffer.size());
  // A reader whose buffer is full cannot know that the file has ended.
  if (whole && (answer.kind == AnswerKind::cut || answer.text.size() > buffer.size()))
    return Failure{std::error_code(EFBIG, std::generic_category()), {}};
  std::copy_n(answer.text.data(), size, buffer.data());
  return std::string_view(buffer.data(), size);
}

Reading<std::string> serve_link(const Answer& answer) {
  if (answer.kind == AnswerKind::link) return answer.text;
  return negative<std::string>(answer);
}

Reading<FileFacts> serve_facts(const Answer& answer) {
  const auto& numbers = answer.numbers;
  // A capture of an earlier version has no time.
  if (answer.kind != AnswerKind::numbers || numbers.size() < 5 || numbers.size() > 6)
    return negative<FileFacts>(answer);
  return FileFacts{static_cast<std::uint32_t>(numbers[0]),
                   static_cast<std::uint32_t>(numbers[1]),
                   numbers[2],
                   numbers[3],
                   numbers[4],
                   Nanoseconds(numbers.size() > 5 ? static_cast<Nanoseconds::rep>(numbers[5]) : 0)};
}

// What is recorded is opened each time, whatever is known, because all that is asked of it later needs it. On replay
// there is nothing to open: null, if it could be opened.
template <class T, class F>
Reading<std::unique_ptr<T>> opened(AnswerSource& source, const std::string& key, bool is_recorded, F&& open) {
  if (is_recorded) {
    auto inner = open();
    (void)source.keep(key, inner ? Answer() : negative(inner));
    return inner;
  }
  const Answer known = source.ask(key, {});
  if (known.kind == AnswerKind::absent || known.kind == AnswerKind::failure) return negative<std::unique_ptr<T>>(known);
  return std::unique_ptr<T>();
}

class AskedFile final : public File {
 public:
  AskedFile(AnswerSource& source, std::unique_ptr<File> inner, std::string key)
      : source_(source), inner_(std::move(inner)), key_(std::move(key)) {}
  Reading<std::string_view> read(std::span<char> buffer) override {
    return serve_read(source_.ask(key_, [&] { return read_answer(inner_->read(buffer), false); }), buffer, true);
  }

 private:
  AnswerSource& source_;
  const std::unique_ptr<File> inner_;
  const std::string key_;
};

class AskedDirectory final : public Directory {
 public:
  AskedDirectory(AnswerSource& source, const Directory* inner, std::string path)
      : source_(source), inner_(inner), path_(std::move(path)) {}
  AskedDirectory(AnswerSource& source, std::unique_ptr<Directory> inner, std::string path)
      : source_(source), owned_(std::move(inner)), inner_(owned_.get()), path_(std::move(path)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    const auto inner = [&] { return read_answer(inner_->read(path, buffer), false); };
    return serve_read(source_.ask(key("read", path), inner), buffer, true);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    const auto inner = [&] {
      const auto text = inner_->read_start(path, buffer);
      return read_answer(text, text && text->size() == buffer.size());
    };
    return serve_read(source_.ask(key("read", path), inner), buffer, false);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    auto inner = opened<File>(source_, key("open", path), inner_ != nullptr, [&] { return inner_->open(path); });
    if (!inner) return inner;
    return std::unique_ptr<File>(std::make_unique<AskedFile>(source_, *std::move(inner), key("read", path)));
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto inner =
        opened<Directory>(source_, key("open", path), inner_ != nullptr, [&] { return inner_->open_directory(path); });
    if (!inner) return inner;
    return std::unique_ptr<Directory>(
        std::make_unique<AskedDirectory>(source_, *std::move(inner), joined(path_, path)));
  }
  Reading<Unit> for_each(std::string_view path,
                         const std::function<bool(std::string_view name)>& visit) const override {
    const Answer answer = source_.ask(key("list", path), [&] {
      Answer names;
      names.kind = AnswerKind::names;
      const auto listed = inner_->for_each(path, [&](std::string_view name) {
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
    return serve_link(source_.ask(key("link", path), [&] { return link_answer(inner_->read_link(path)); }));
  }
  Reading<std::string> resolve(std::string_view path) const override {
    return serve_link(source_.ask(key("resolve", path), [&] { return link_answer(inner_->resolve(path)); }));
  }
  Reading<FileFacts> stat(std::string_view path) const override {
    return serve_facts(source_.ask(key("stat", path), [&] { return facts_answer(inner_->stat(path)); }));
  }

 private:
  std::string key(std::string_view word, std::string_view path) const { return question(word, joined(path_, path)); }

  AnswerSource& source_;
  const std::unique_ptr<Directory> owned_;
  const Directory* const inner_;
  const std::string path_;
};

class AskedEvent final : public PerfEvent {
 public:
  AskedEvent(AnswerSource& source, std::unique_ptr<PerfEvent> inner, std::string name, AskedEvent* leader)
      : source_(source), inner_(std::move(inner)), members_{std::move(name)} {
    if (leader) leader->members_.push_back(members_.front());
  }
  PerfEvent* inner() { return inner_.get(); }

  Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
    if (inner_) {
      const auto now = inner_->read(words);
      keep(now);
      if (!is_kept()) return now;  // the recording has ended
    }
    if (const auto whole = source_.find(question("perf.words", members_.front()))) return serve(whole->numbers, words);
    std::vector<std::uint64_t> all{members_.size(), 0, 0};
    for (const std::string& member : members_) {
      const Answer answer = source_.ask(question("perf.read", member), [] { return absent_answer({}); });
      if (answer.kind != AnswerKind::numbers || answer.numbers.size() != 3)
        return negative<std::span<const std::uint64_t>>(answer);
      if (all.size() == 3) std::copy_n(answer.numbers.begin() + 1, 2, all.begin() + 1);
      all.push_back(answer.numbers[0]);
    }
    return serve(all, words);
  }

 private:
  bool is_kept() const {
    return source_.find(question("perf.read", members_.front())) ||
           source_.find(question("perf.words", members_.front()));
  }
  // The values of all members one by one, with the two times of the group.
  void keep(const Reading<std::span<const std::uint64_t>>& read) {
    if (!read) {
      (void)source_.keep(question("perf.read", members_.front()), negative(read));
    } else if (read->size() != 3 + members_.size() || read->front() != members_.size()) {
      (void)source_.keep(question("perf.words", members_.front()), numbers_answer({read->begin(), read->end()}));
    } else {
      for (std::size_t i = 0; i < members_.size(); ++i)
        (void)source_.keep(question("perf.read", members_[i]),
                           numbers_answer({(*read)[3 + i], (*read)[1], (*read)[2]}));
    }
  }
  static Reading<std::span<const std::uint64_t>> serve(const std::vector<std::uint64_t>& from,
                                                       std::span<std::uint64_t> words) {
    const std::size_t count = std::min(from.size(), words.size());
    std::copy_n(from.begin(), count, words.begin());
    return std::span<const std::uint64_t>(words.first(count));
  }

  AnswerSource& source_;
  const std::unique_ptr<PerfEvent> inner_;
  std::vector<std::string> members_;  // itself and, if it leads, the others
};

class AskedPerf final : public PerfEvents {
 public:
  AskedPerf(AnswerSource& source, PerfEvents* inner) : source_(source), inner_(inner) {}
  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    auto* const group = static_cast<AskedEvent*>(leader);
    std::string name = numbered(event_name(event, cpu));
    auto inner = opened<PerfEvent>(source_, question("perf.open", name), inner_ != nullptr,
                                   [&] { return inner_->open(event, cpu, group ? group->inner() : nullptr); });
    if (!inner) return inner;
    return std::unique_ptr<PerfEvent>(std::make_unique<AskedEvent>(source_, *std::move(inner), std::move(name), group));
  }

 private:
  // Distinguishes events that are opened more than once.
  std::string numbered(const std::string& event) {
    const std::lock_guard lock(mutex_);
    return event + '#' + std::to_string(times_opened_[event]++);
  }

  AnswerSource& source_;
  PerfEvents* const inner_;
  std::mutex mutex_;
  std::map<std::string, unsigned> times_opened_;
};

class AskedNode final : public DrmNode {
 public:
  AskedNode(AnswerSource& source, std::unique_ptr<DrmNode> inner, std::string name)
      : source_(source), inner_(std::move(inner)), name_(std::move(name)) {}

  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    const drm::Question asked = drm::question(request, argument);
    if (asked.what.empty()) return inner_ ? inner_->ioctl(request, argument) : drm::refuse(request, argument, EINVAL);
    const std::string key = question(asked.for_size ? "drm.size" : "drm.query", name_ + '/' + asked.what);
    const Answer known = source_.ask(key, [&] { return ask(request, argument, asked); });
    if (known.kind == AnswerKind::failure && known.text == kItem) return drm::refuse(request, argument, known.error);
    if (known.kind == AnswerKind::done && asked.what == drm::kThrottle) return Unit{};
    const bool is_positive =
        asked.for_size ? known.kind == AnswerKind::numbers && known.numbers.size() == 1 : known.has_content();
    if (!is_positive) return negative<Unit>(known);
    return drm::answer(request, argument, asked.for_size,
                       {asked.for_size ? known.numbers.front() : std::uint64_t{0}, known.text});
  }

 private:
  static constexpr std::string_view kItem = "item";  // in its own result, while the call succeeds

  Answer ask(unsigned long request, void* argument, const drm::Question& asked) {
    if (const auto done = inner_->ioctl(request, argument); !done) return negative(done);
    const auto result = drm::result_of(request, argument, asked.for_size);
    if (!result) return failure_answer({result.failure().code, std::string(kItem)});
    if (asked.for_size) return numbers_answer({result->number});
    return asked.what == drm::kThrottle ? Answer() : text_answer(AnswerKind::content, result->bytes);
  }

  AnswerSource& source_;
  const std::unique_ptr<DrmNode> inner_;
  const std::string name_;
};

class AskedDrm final : public DrmNodes {
 public:
  AskedDrm(AnswerSource& source, DrmNodes* inner) : source_(source), inner_(inner) {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    auto inner =
        opened<DrmNode>(source_, question("drm.open", name), inner_ != nullptr, [&] { return inner_->open(name); });
    if (!inner) return inner;
    return std::unique_ptr<DrmNode>(std::make_unique<AskedNode>(source_, *std::move(inner), std::string(name)));
  }

 private:
  AnswerSource& source_;
  DrmNodes* const inner_;
};

class AskedClock final : public Clock {
 public:
  explicit AskedClock(AnswerSource& source) : source_(source) {}
  Nanoseconds now() const override { return source_.now(); }
  // Absent: the machine has none, or the capture is of an earlier version.
  Reading<Nanoseconds> boot_now() const override {
    const auto boot = source_.find(std::string(kBootTime));
    if (!boot || boot->numbers.empty()) return Absent{Reason::kernel, ENODATA};
    return Nanoseconds(boot->numbers.front());
  }

 private:
  AnswerSource& source_;
};

class AskedPrivileges final : public Privileges {
 public:
  AskedPrivileges(AnswerSource& source, const Machine* inner)
      : source_(source),
        inner_(inner != nullptr ? &inner->privileges : nullptr),
        page_size_(inner != nullptr ? std::optional(inner->privileges.page_size()) : std::nullopt) {}
  bool has_capability(int number) const override {
    return ask("capability " + std::to_string(number), [&] { return inner_->has_capability(number); }) != 0;
  }
  std::uint32_t effective_uid() const override {
    return static_cast<std::uint32_t>(ask("privilege uid", [&] { return inner_->effective_uid(); }));
  }
  bool in_initial_user_namespace() const override {
    return ask("privilege initial-user-namespace", [&] { return inner_->in_initial_user_namespace(); }) != 0;
  }
  std::uint64_t page_size() const override {
    if (page_size_ == kUsualPageSize) return kUsualPageSize;
    if (page_size_) return ask(std::string(kPageSize), [&] { return *page_size_; });
    const auto recorded = source_.find(std::string(kPageSize));
    return recorded && !recorded->numbers.empty() ? recorded->numbers.front() : kUsualPageSize;
  }

 private:
  template <class F>
  std::uint64_t ask(const std::string& key, F&& inner) const {
    const Answer answer = source_.ask(key, [&] { return numbers_answer({static_cast<std::uint64_t>(inner())}); });
    return answer.numbers.empty() ? 0 : answer.numbers.front();
  }

  AnswerSource& source_;
  const Privileges* const inner_;
  const std::optional<std::uint64_t> page_size_;  // nullopt on replay
};

class AskedNames final : public Names {
 public:
  AskedNames(AnswerSource& source, const Names* inner) : source_(source), inner_(inner) {}
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    return ask(pci_question(vendor, device), [&] { return inner_->pci_device(vendor, device); });
  }
  std::string user(std::uint32_t uid) const override {
    return ask("user " + std::to_string(uid), [&] { return inner_->user(uid); });
  }

 private:
  template <class F>
  std::string ask(const std::string& key, F&& inner) const {
    const Answer answer = source_.ask(key, [&] { return text_answer(AnswerKind::name, inner()); });
    return answer.kind == AnswerKind::name ? answer.text : std::string();
  }

  AnswerSource& source_;
  const Names* const inner_;
};

// For files of the Linux kernel on Windows, which has none: the answers are not recorded, because what a capture lacks
// is absent on replay, too.
class NotKept final : public AnswerSource {
 public:
  explicit NotKept(AnswerSource& clock) : clock_(clock) {}
  std::optional<Answer> find(const std::string&) override { return std::nullopt; }
  Answer ask(const std::string&, const std::function<Answer()>& machine) override { return machine(); }
  Answer keep(const std::string&, Answer answer) override { return answer; }
  Nanoseconds now() override { return clock_.now(); }

 private:
  AnswerSource& clock_;
};

}  // namespace

struct AskedMachine::Parts {
  Parts(AnswerSource& answers, Machine* recorded)
      : source(answers),
        unkept(answers),
        adapters(asked_adapters(source, recorded ? recorded->adapters : nullptr)),
        files(recorded && adapters ? static_cast<AnswerSource&>(unkept) : source),
        sys(files, recorded ? &recorded->sys : nullptr, "sys"),
        proc(files, recorded ? &recorded->proc : nullptr, "proc"),
        dev(files, recorded ? &recorded->dev : nullptr, "dev"),
        perf(files, recorded ? &recorded->perf : nullptr),
        drm(files, recorded ? &recorded->drm : nullptr),
        clock(source),
        privileges(source, recorded),
        names(source, recorded ? &recorded->names : nullptr),
        machine{sys, proc, dev, perf, drm, clock, privileges, names} {
    machine.adapters = adapters.get();
    machine.client_scan_limit = kClientScanLimit;
    machine.queue_faults = Absent{Reason::disabled, ENOENT};  // a capture is taken without collector `jobs`
    machine.uevents = channel(kUevents, recorded ? &recorded->uevents : nullptr);
    machine.output_uevents = machine.uevents;
    machine.kernel_log = channel(kKernelLog, recorded ? &recorded->kernel_log : nullptr);
  }

  // Whether it could be opened. A capture of an earlier version does not say.
  Reading<KernelMessages*> channel(std::string_view about, const Reading<KernelMessages*>* recorded) {
    const std::string key(about);
    if (recorded) (void)source.keep(key, *recorded ? Answer() : absent_answer(recorded->absent()));
    const auto opened = source.find(key);
    if (!opened) return Machine::kNoPart;
    if (opened->kind == AnswerKind::absent) return Absent{opened->reason, opened->error};
    return &no_messages;
  }

  AnswerSource& source;
  NotKept unkept;
  const std::unique_ptr<GpuAdapters> adapters;  // null: Linux
  AnswerSource& files;
  AskedDirectory sys, proc, dev;
  AskedPerf perf;
  AskedDrm drm;
  AskedClock clock;
  AskedPrivileges privileges;
  AskedNames names;
  NoMessages no_messages;
  Machine machine;
};

AskedMachine::AskedMachine(AnswerSource& source, Machine* recorded)
    : parts_(std::make_unique<Parts>(source, recorded)) {}
AskedMachine::~AskedMachine() = default;

Machine& AskedMachine::machine() { return parts_->machine; }

}  // namespace igpu::capture
