// SPDX-License-Identifier: BSD-3-Clause
// Processes that share a NIC of one host: each has its own model of the NIC, on a share of its
// address.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/local_pids.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire_local.hpp"
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft::shares_test {
namespace {

using rigs::Host;
using rigs::quick;

struct Folder {
  Folder() {
    std::string name = "/tmp/plnet-share-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

std::unique_ptr<WireLocal> open(const Folder& folder, NicAddress address) {
  auto wire = WireLocal::open({.directory = folder.path, .address = address});
  EXPECT_TRUE(wire) << (wire ? "" : wire.error().what);
  return wire ? std::move(*wire) : nullptr;
}

PortOptions patient() {
  PortOptions options = quick();
  options.retry.time_divisor = 1;
  return options;
}

// A process with a NIC.
struct Process {
  Process(const Folder& folder, NicAddress address)
      : wire(open(folder, address)), nic({.address = address}), port(nic, *wire, patient()) {
    nic.set_pid_owners(&wire->pids());
  }
  std::unique_ptr<WireLocal> wire;
  Nic nic;
  PacketPort port;
};

class Processes {
 public:
  Process& add(NicAddress address) {
    return *all_.emplace_back(std::make_unique<Process>(folder, address));
  }
  void remove(const Process& one) {
    std::erase_if(all_, [&one](const auto& each) { return each.get() == &one; });
  }
  std::unique_ptr<Host> host(Process& process, unsigned pid) {
    return std::make_unique<Host>(
        process.nic, [this](std::uint64_t now) { step(now); },
        rigs::HostOptions{.address = process.nic.address(), .pid = pid});
  }
  // A step of a host is a millisecond here, after which wires look at their sockets.
  void step(std::uint64_t now) const {
    constexpr std::uint64_t kSlower = 1000;
    for (const auto& one : all_)
      one->port.step(now * kSlower);
  }

  const Folder folder;

 private:
  std::vector<std::unique_ptr<Process>> all_;
};

// The entry takes nothing but messages of `from`.
void take_from(Host& to, const Host& from, unsigned buffer) {
  to.append(to.arena.data(), 100, buffer, buffer,
            [&from](std::byte* slot) { layout::Target::MatchId::set(slot, from.id()); });
}

void exchange(Host& from, Host& to, unsigned buffer) {
  take_from(to, from, buffer);
  from.arena.data()[0] = static_cast<std::byte>(buffer);
  from.put(to, from.arena.data(), 100, buffer, buffer);
  from.expect(EventType::kAck);
  to.expect(EventType::kPut);
  EXPECT_EQ(to.arena.data()[0], static_cast<std::byte>(buffer));
}

TEST(SoftShares, MessagesReachTheProcessThatHasThePid) {
  Processes processes;
  Process& alone = processes.add(1);
  Process& first = processes.add(2);
  Process& second = processes.add(2);
  EXPECT_EQ(first.wire->own(), 2U);
  EXPECT_EQ(second.wire->own(), 2U | 1U << kShareShift);
  const auto a = processes.host(alone, 7);
  const auto b = processes.host(first, 9);
  const auto c = processes.host(second, 10);
  EXPECT_EQ(b->nic.address(), c->nic.address()) << "one address";
  unsigned buffer = 0;
  for (unsigned round = 0; round < 2; ++round) {
    exchange(*a, *b, ++buffer);
    exchange(*a, *c, ++buffer);
    exchange(*b, *a, ++buffer);
    exchange(*c, *a, ++buffer);
    exchange(*b, *c, ++buffer);
    exchange(*c, *b, ++buffer);
  }
}

TEST(SoftShares, PidsBelongToOneProcess) {
  Processes processes;
  Process& first = processes.add(2);
  Process& second = processes.add(2);
  const unsigned in_first = first.nic.make_group(kDefaultService).value();
  const unsigned in_second = second.nic.make_group(kDefaultService).value();
  const auto domain = first.nic.make_domain(in_first, 1, 0).value();
  EXPECT_EQ(second.nic.make_domain(in_second, 1, 0).error(), EEXIST);
  EXPECT_TRUE(second.nic.make_domain(in_second, 2, 0)) << "of another VNI";
  EXPECT_EQ(second.nic.make_domain(in_second, 1, kPidAnyValue).value().pid, 1U);
  EXPECT_EQ(first.nic.reserve_pids(in_first, 1, 10, 5).value(), 10U);
  EXPECT_EQ(second.nic.reserve_pids(in_second, 1, 6, 5).error(), EEXIST);
  EXPECT_EQ(second.nic.reserve_pids(in_second, 1, 6, 4).value(), 6U) << "none of them was kept";
  EXPECT_EQ(second.nic.reserve_pids(in_second, 1, kPidAnyValue, 9).value(), 15U);
  EXPECT_TRUE(first.nic.make_domain(in_first, 1, 12)) << "of its own reservation";
  ASSERT_TRUE(first.nic.drop_domain(domain.key));
  EXPECT_TRUE(second.nic.make_domain(in_second, 1, 0));
}

TEST(SoftShares, PidMovesToAnotherProcess) {
  Processes processes;
  Process& alone = processes.add(1);
  Process& first = processes.add(2);
  Process& second = processes.add(2);
  const auto a = processes.host(alone, 7);
  {
    const auto b = processes.host(first, 9);
    exchange(*a, *b, 1);
  }
  processes.remove(first);
  const auto c = processes.host(second, 9);
  exchange(*a, *c, 2);
  EXPECT_EQ(processes.add(2).wire->own(), 2U) << "the first share is free again";
}

TEST(SoftShares, NicHasAFewShares) {
  const Folder folder;
  std::vector<std::unique_ptr<WireLocal>> wires;
  for (unsigned i = 0; i < kSharesMax; ++i)
    wires.push_back(open(folder, 5));
  const auto further = WireLocal::open({.directory = folder.path, .address = 5});
  ASSERT_FALSE(further);
  EXPECT_EQ(further.error().code, Errc::kBusy);
  EXPECT_EQ(further.error().what,
            "cassini: " + folder.path + "/nic-00005: 8 processes have this NIC already");
  wires[3].reset();
  EXPECT_EQ(open(folder, 5)->own(), 5U | 3U << kShareShift);
}

TEST(SoftShares, KilledProcessLosesItsPids) {
  const Folder folder;
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto wire = WireLocal::open({.directory = folder.path, .address = 2});
    const char word = wire && (*wire)->pids().claim(1, 5) ? 'y' : 'n';
    (void)!::write(told[1], &word, 1);
    for (;;)
      (void)::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(told[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const auto wire = open(folder, 2);
  const auto other = open(folder, 3);
  EXPECT_FALSE(wire->pids().claim(1, 5));
  EXPECT_EQ(other->route(2, 1, 5), 2U);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(wire->pids().claim(1, 5));
  LocalPidReader reader;
  EXPECT_EQ(reader.look_up_share(folder.path + "/nic-00002", 2, 1, 5, 0), 1U);
  ::close(told[0]);
  ::close(told[1]);
}

// A child in another network namespace, as another rank of a lab is. Nothing: it may not make one.
std::optional<bool> in_another_network(const std::function<bool()>& try_it) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWNET) != 0 ? 2 : try_it() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) return std::nullopt;
  return WEXITSTATUS(status) == 0;
}

TEST(SoftShares, ProcessOfAnotherNetworkGetsNone) {
  const Folder folder;
  const auto wire = open(folder, 2);
  const auto refused = in_another_network([&folder] {
    const auto further = WireLocal::open({.directory = folder.path, .address = 2});
    return !further && further.error().code == Errc::kBusy &&
           further.error().what == "cassini: " + folder.path +
                                       "/nic-00002: a process in another network namespace has "
                                       "this NIC";
  });
  if (!refused) GTEST_SKIP() << "only an administrator makes network namespaces";
  EXPECT_TRUE(*refused);
}

struct Deaf final : WireEvents {
  void on_packet(NicAddress /*from*/, std::span<const std::byte> /*packet*/) override { ++packets; }
  void on_link(bool /*up*/, NicAddress /*own*/) override {}
  unsigned packets = 0;
};

// A process that has taken a share by its own means is not heard, and gets nothing.
TEST(SoftShares, StrangersShareIsNotBelieved) {
  Folder folder;
  const auto first = open(folder, 2);
  const auto other = open(folder, 3);
  std::array<int, 2> told{}, asked{};
  ASSERT_EQ(::pipe(told.data()), 0);
  ASSERT_EQ(::pipe(asked.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto share = WireLocal::open({.directory = folder.path, .address = 2});
    const bool is_away = share && (*share)->pids().claim(1, 5) && ::unshare(CLONE_NEWNET) == 0;
    Deaf events;
    if (share) {
      (void)(*share)->poll(1, events);
      (void)!(*share)->send(3, std::array<std::byte, 4>{}, {});
    }
    char word = is_away ? 'y' : 'n';
    (void)!::write(told[1], &word, 1);
    (void)!::read(asked[0], &word, 1);
    for (std::uint64_t turn = 1; share && turn < 50; ++turn)
      (void)(*share)->poll(turn * 2'000'000, events);
    ::_exit(events.packets == 0 ? 0 : 1);
  }
  char word = 0;
  ASSERT_EQ(::read(told[0], &word, 1), 1);
  Deaf events;
  for (std::uint64_t turn = 1; turn < 50; ++turn)
    (void)other->poll(turn * 2'000'000, events);
  const NicAddress to = other->route(2, 1, 5);
  EXPECT_TRUE(other->send(to, std::array<std::byte, 4>{}, {}));
  EXPECT_EQ(::write(asked[1], &word, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  for (const int end : {told[0], told[1], asked[0], asked[1]})
    ::close(end);
  if (word != 'y') GTEST_SKIP() << "only an administrator makes network namespaces";
  EXPECT_EQ(to, 2U | 1U << kShareShift);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it got nothing";
  EXPECT_EQ(events.packets, 0U);
  EXPECT_EQ(other->count(LocalWireCounters::Id::kAccepted), 0U);
  EXPECT_EQ(other->count(LocalWireCounters::Id::kUnreachable), 1U);
}

// Any byte of the file stands for a share that may exist.
TEST(SoftShares, FileWithOtherBytes) {
  const Folder folder;
  const auto wire = open(folder, 2);
  const std::string path = folder.path + "/nic-00002";
  std::FILE* const file = std::fopen((path + ".pids").c_str(), "r+e");
  ASSERT_NE(file, nullptr);
  for (int byte = 0; byte < 256; ++byte)
    (void)std::fputc(byte, file);
  ASSERT_EQ(std::fclose(file), 0);
  LocalPidReader reader;
  for (unsigned pid = 0; pid < 256; ++pid) {
    const unsigned share = reader.look_up_share(path, 2, 0, pid, 0);
    EXPECT_EQ(share, pid >= 1 && pid <= kSharesMax ? pid - 1 : 0);
    EXPECT_EQ(reader.known_share(2, 0, pid, LocalPidReader::kValidNs - 1), share);
    EXPECT_FALSE(reader.known_share(2, 0, pid, LocalPidReader::kValidNs));
  }
  ASSERT_EQ(::truncate((path + ".pids").c_str(), 0), 0);
  EXPECT_EQ(reader.look_up_share(path, 2, 0, 1, 0), 0U) << "it ends before";
  EXPECT_EQ(reader.look_up_share(folder.path + "/nic-00009", 9, 0, 1, 0), 0U) << "no such NIC";
}

}  // namespace
}  // namespace plnet::cassini::soft::shares_test
