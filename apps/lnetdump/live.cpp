// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/live.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "apps/lnetdump/command.hpp"
#include "apps/lnetdump/kernel/kernel_check.hpp"
#ifdef PLNET_HAS_KERNEL_PROBES
#include "apps/lnetdump/kernel/kernel_source.hpp"
#endif
#include "apps/lnetdump/live_source.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/trace/file/capture_reader.hpp"

namespace plnet::lnetdump {

namespace {

using runtime::Descriptor;

// Records delivered before other checks.
constexpr std::size_t kBurst = 4096;
// Interval of polling an empty ring: the writer never notifies its readers.
constexpr int kWaitMs = 2;
constexpr Duration kFlushPeriod = std::chrono::milliseconds(200);
// Limit of records that are read from the rings after a capture has ended.
constexpr std::size_t kLastRecordsMax = std::size_t{1} << 20U;

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int /*number*/) {
  interrupted = 1;
}

// During its life, signals that would end the program end the capture.
class SignalGuard {
 public:
  SignalGuard() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = on_signal;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~SignalGuard() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// The conditions that end a capture: an interrupt, a time limit, the end of a command.
class Ending {
 public:
  Ending(const Arguments& arguments, const Clock& clock)
      : arguments_(arguments), clock_(clock), begun_(clock.now()) {}

  [[nodiscard]] Outcome<void> start_command() {
    if (arguments_.command.empty()) return {};
    auto started = Command::start(arguments_.command);
    if (!started) return std::unexpected(std::move(started.error()));
    command_.emplace(std::move(*started));
    return {};
  }

  [[nodiscard]] bool is_due() {
    const Instant now = clock_.now();
    if (interrupted != 0) return true;
    if (arguments_.end_after && now - begun_ >= *arguments_.end_after) return true;
    if (!command_ || !command_->status()) return false;
    if (!command_over_) command_over_ = now;
    return now - *command_over_ >= arguments_.settle;
  }

  // A command that still runs is ended.
  [[nodiscard]] std::optional<int> command_status() {
    if (!command_) return std::nullopt;
    return command_->status().value_or(128 + SIGTERM);
  }

 private:
  const Arguments& arguments_;
  const Clock& clock_;
  const Instant begun_;
  std::optional<Command> command_;
  std::optional<Instant> command_over_;
};

// Calls Dump::flush() and its tables in time.
class Pace {
 public:
  Pace(const Arguments& arguments, Dump& dump, const Clock& clock)
      : arguments_(arguments),
        dump_(dump),
        clock_(clock),
        flushed_(clock.now()),
        shown_(flushed_) {}

  void step() {
    const Instant now = clock_.now();
    if (arguments_.top && now - shown_ >= *arguments_.top) {
      dump_.print_top();
      shown_ = now;
    }
    if (now - flushed_ < kFlushPeriod) return;
    dump_.flush();
    flushed_ = now;
  }

 private:
  const Arguments& arguments_;
  Dump& dump_;
  const Clock& clock_;
  Instant flushed_;
  Instant shown_;
};

enum class Waited : std::uint8_t { kNothing, kNodeEnded, kReaderGone };

// The reader of the output may vanish without a signal, like the other end of ssh.
Waited wait_a_little(int life) {
  std::array<pollfd, 2> entries{{{life, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  if (::poll(entries.data(), entries.size(), kWaitMs) <= 0) return Waited::kNothing;
  if (entries[0].revents != 0) return Waited::kNodeEnded;
  return (entries[1].revents & (POLLERR | POLLHUP)) != 0 ? Waited::kReaderGone : Waited::kNothing;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

// ssh passes the words to a remote shell.
std::vector<std::string> ssh_words(const Arguments& arguments) {
  const LiveOptions& live = arguments.live;
  std::vector<std::string> words{"lnetdump",
                                 "-w",
                                 "-",
                                 "--snap",
                                 std::to_string(live.snap_bytes),
                                 "--ring",
                                 std::to_string(live.ring_kib),
                                 "--keep",
                                 live.keep == trace::Keep::kOldest ? "oldest" : "newest"};
  if (live.of_kernel) {
    words.emplace_back("--kernel");
    if (!live.lnet_btf.empty()) words.insert(words.end(), {"--lnet-btf", quoted(live.lnet_btf)});
  } else {
    words.insert(words.end(), {"--socket", quoted(live.socket)});
  }
  if (!live.filter.empty()) words.insert(words.end(), {"--filter", quoted(live.filter)});
  std::vector<std::string> all{"ssh", "-o", "BatchMode=yes", "--", arguments.ssh_host};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

template <class Source>
Outcome<LiveEnd> capture_from(const Arguments& arguments, Dump& dump, const Clock& clock,
                              const runtime::WallClock& wall_clock) {
  const SignalGuard guard;  // before the capture is visible: from then on a signal may end it
  auto source = Source::open(arguments.live, clock, wall_clock);
  if (!source) return std::unexpected(std::move(source.error()));
  Ending ending(arguments, clock);
  if (auto started = ending.start_command(); !started) return std::unexpected(started.error());
  Pace pace(arguments, dump, clock);
  LiveEnd end;
  Waited waited = Waited::kNothing;
  while (!dump.is_done() && waited == Waited::kNothing && !ending.is_due()) {
    const auto got = source->drain(dump, kBurst);
    if (!got) return std::unexpected(got.error());
    pace.step();
    if (*got == 0) waited = wait_a_little(source->life());
  }
  end.node_ended = waited == Waited::kNodeEnded;
  source->end();
  const auto last = source->drain(dump, kLastRecordsMax);
  if (!last) return std::unexpected(last.error());
  end.lost = dump.is_done() ? 0 : source->lost();
  end.command = ending.command_status();
  return end;
}

}  // namespace

Outcome<LiveEnd> capture_node(const Arguments& arguments, Dump& dump, const Clock& clock,
                              const runtime::WallClock& wall_clock) {
  return capture_from<LiveSource>(arguments, dump, clock, wall_clock);
}

Outcome<LiveEnd> capture_kernel(const Arguments& arguments, Dump& dump, const Clock& clock,
                                const runtime::WallClock& wall_clock) {
  if (auto checked = check_kernel("", arguments.live.lnet_btf); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
#ifdef PLNET_HAS_KERNEL_PROBES
  return capture_from<KernelSource>(arguments, dump, clock, wall_clock);
#else
  (void)dump, (void)clock, (void)wall_clock;
  return failure(Errc::kNotSupported,
                 "this lnetdump was built without probes for the kernel: its build needs clang, "
                 "bpftool and libbpf-dev");
#endif
}

Outcome<LiveEnd> capture_by_ssh(const Arguments& arguments, Dump& dump, const Clock& clock) {
  const SignalGuard guard;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return failure(errc_of_errno(errno), std::generic_category().message(errno));
  }
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  auto ssh = Command::start(ssh_words(arguments), theirs.get());
  if (!ssh) return std::unexpected(std::move(ssh.error()));
  theirs.reset();
  Ending ending(arguments, clock);
  Pace pace(arguments, dump, clock);
  trace::CaptureSource source(dump, {.port = arguments.port, .snap_bytes = arguments.snap_bytes});
  trace::CaptureReader reader;
  std::vector<std::byte> waiting;
  bool over = false;
  bool started = false;
  while (!over && !dump.is_done() && !ending.is_due()) {
    pollfd entry{ours.get(), POLLIN, 0};
    const bool readable = ::poll(&entry, 1, 100) > 0;
    pace.step();
    if (!readable) continue;
    constexpr std::size_t kPiece = 64U << 10U;
    const std::size_t had = waiting.size();
    waiting.resize(had + kPiece);
    const ssize_t got = ::read(ours.get(), &waiting[had], kPiece);
    waiting.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    over = got == 0;
    std::span<const std::byte> bytes = waiting;
    auto step = reader.next(bytes);
    for (; step == trace::CaptureReader::Step::kPacket; step = reader.next(bytes))
      source.add(reader.packet());
    if (step == trace::CaptureReader::Step::kFailed) {
      return failure(Errc::kMalformed, arguments.ssh_host + ": " + reader.error());
    }
    if (bytes.size() < waiting.size() && !std::exchange(started, true)) {
      if (auto begun = ending.start_command(); !begun) return std::unexpected(begun.error());
    }
    waiting.erase(waiting.begin(), waiting.end() - static_cast<std::ptrdiff_t>(bytes.size()));
    if (over && ssh->wait() != 0) {
      return failure(Errc::kRefused, arguments.ssh_host + ": lnetdump could not capture there");
    }
  }
  source.finish();
  return LiveEnd{.node_ended = over, .command = ending.command_status()};
}

}  // namespace plnet::lnetdump
