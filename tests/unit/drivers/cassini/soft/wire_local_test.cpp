// SPDX-License-Identifier: BSD-3-Clause
// Two or three wires in one process, on a directory of the test.
#include "drivers/net/cassini/soft/wire_local.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/random.hpp"

namespace plnet::cassini::soft::wire_local_test {
namespace {

using Id = LocalWireCounters::Id;

// A directory with a short path, as sockets need it.
class Folder {
 public:
  Folder() {
    std::string name = "/tmp/plnet-wire-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Received final : WireEvents {
  void on_packet(NicAddress from, std::span<const std::byte> packet) override {
    packets.emplace_back(from, std::vector<std::byte>(packet.begin(), packet.end()));
  }
  void on_link(bool up, NicAddress own) override { links.emplace_back(up, own); }
  std::vector<std::pair<NicAddress, std::vector<std::byte>>> packets;
  std::vector<std::pair<bool, NicAddress>> links;
};

std::unique_ptr<WireLocal> open(const Folder& folder, NicAddress address,
                                std::size_t ring_bytes = WireLocal::kRingBytesMin) {
  auto wire =
      WireLocal::open({.directory = folder.path(), .address = address, .ring_bytes = ring_bytes});
  EXPECT_TRUE(wire) << (wire ? "" : wire.error().what);
  return wire ? std::move(*wire) : nullptr;
}

std::vector<std::byte> packet_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> packet(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    packet[i] = static_cast<std::byte>(i * 3 + seed);
  return packet;
}

// Both look at their sockets in each turn.
struct Turns {
  void turn(WireLocal& wire, Received& events) { (void)wire.poll(now_ns += 2'000'000, events); }
  std::uint64_t now_ns = 1;
};

struct Pair : Turns {
  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      turn(*one, at_one);
      turn(*two, at_two);
    }
  }
  Folder folder;
  std::unique_ptr<WireLocal> one = open(folder, 1);
  std::unique_ptr<WireLocal> two = open(folder, 2);
  Received at_one, at_two;
};

TEST(WireLocal, PacketsOfAllLengthsInBothDirections) {
  Pair pair;
  pair.turns(1);
  EXPECT_EQ(pair.at_one.links, (std::vector<std::pair<bool, NicAddress>>{{true, 1}}));
  unsigned sent = 0;
  for (std::size_t bytes = 0; bytes <= WireLocal::kPacketBytes; bytes += 117) {
    const auto packet = packet_of(bytes, ++sent);
    const auto all = std::span<const std::byte>(packet);
    ASSERT_TRUE(pair.one->send(2, all.first(bytes / 4), all.subspan(bytes / 4)));
    ASSERT_TRUE(pair.two->send(1, all, {}));
    pair.turns(2);
    ASSERT_EQ(pair.at_two.packets.size(), sent);
    ASSERT_EQ(pair.at_one.packets.size(), sent);
    EXPECT_EQ(pair.at_two.packets.back(), std::pair(NicAddress{1}, packet));
    EXPECT_EQ(pair.at_one.packets.back(), std::pair(NicAddress{2}, packet));
  }
}

TEST(WireLocal, ARingThatIsFull) {
  Pair pair;
  const auto packet = packet_of(4000, 1);
  unsigned sent = 0;
  while (pair.one->send(2, packet, {}))
    ++sent;
  EXPECT_EQ(sent, WireLocal::kRingBytesMin / 4008);
  EXPECT_EQ(pair.one->count(Id::kFull), 1U);
  pair.turns(3);
  EXPECT_EQ(pair.at_two.packets.size(), sent);
  EXPECT_TRUE(pair.one->send(2, packet, {}));
}

TEST(WireLocal, ToItself) {
  Pair pair;
  const auto packet = packet_of(100, 1);
  ASSERT_TRUE(pair.one->send(1, packet, {}));
  pair.turns(2);
  ASSERT_EQ(pair.at_one.packets.size(), 1U);
  EXPECT_EQ(pair.at_one.packets[0], std::pair(NicAddress{1}, packet));
}

TEST(WireLocal, OptionsThatAreRefused) {
  const Folder folder;
  for (const NicAddress address : {0U, 0xfffffU})
    EXPECT_FALSE(WireLocal::open({.directory = folder.path(), .address = address}));
  for (const std::size_t bytes : {0UL, 4096UL, 100'000UL, 1UL << 30U})
    EXPECT_FALSE(WireLocal::open({.directory = folder.path(), .address = 1, .ring_bytes = bytes}));
  EXPECT_FALSE(WireLocal::open({.directory = folder.path() + "/none", .address = 1}));
  const auto deep =
      WireLocal::open({.directory = folder.path() + std::string(99, '/'), .address = 1});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, Errc::kTooBig);
}

TEST(WireLocal, ANicThatIsMissingAndComesLater) {
  const Folder folder;
  Turns turns;
  Received at_one, at_two;
  const auto one = open(folder, 1);
  const auto packet = packet_of(100, 1);
  EXPECT_TRUE(one->send(2, packet, {}));
  EXPECT_EQ(one->count(Id::kUnreachable), 1U);
  const auto two = open(folder, 2);
  for (unsigned i = 0; i < 10; ++i)
    turns.turn(*one, at_one);
  EXPECT_TRUE(one->send(2, packet, {}));
  EXPECT_EQ(one->count(Id::kUnreachable), 1U);
  for (unsigned i = 0; i < 2; ++i) {
    turns.turn(*two, at_two);
    turns.turn(*one, at_one);
  }
  EXPECT_EQ(at_two.packets.size(), 1U);
}

// Packets that it had sent before are still delivered.
TEST(WireLocal, ANicThatGoesAndAnotherWithItsAddress) {
  Pair pair;
  const auto packet = packet_of(1000, 1);
  EXPECT_TRUE(pair.one->send(2, packet, {}));
  EXPECT_TRUE(pair.two->send(1, packet, {}));
  pair.turns(2);
  for (unsigned i = 0; i < 20; ++i)
    ASSERT_TRUE(pair.two->send(1, packet, {}));
  pair.two.reset();
  for (unsigned i = 0; i < 3; ++i)
    pair.turn(*pair.one, pair.at_one);
  EXPECT_EQ(pair.at_one.packets.size(), 21U);
  EXPECT_EQ(pair.one->count(Id::kEnded), 2U);
  EXPECT_TRUE(pair.one->send(2, packet, {}));
  EXPECT_EQ(pair.one->count(Id::kUnreachable), 1U);
  pair.two = open(pair.folder, 2);
  pair.turns(10);
  EXPECT_TRUE(pair.one->send(2, packet, {}));
  pair.turns(2);
  EXPECT_EQ(pair.at_two.packets.size(), 2U);
}

// Its socket file stays, with nothing behind it, and so does its lock file.
TEST(WireLocal, AProcessThatIsKilled) {
  Folder folder;
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto wire = WireLocal::open({.directory = folder.path(), .address = 2});
    char word = wire ? 'y' : 'n';
    (void)!::write(told[1], &word, 1);
    for (;;)
      (void)::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(told[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  Turns turns;
  Received at_one, at_two;
  const auto one = open(folder, 1);
  const auto packet = packet_of(100, 1);
  unsigned sent = 0;
  while (one->send(2, packet, {}))
    ++sent;
  EXPECT_GT(sent, 100U);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  turns.turn(*one, at_one);
  EXPECT_EQ(one->count(Id::kEnded), 1U);
  EXPECT_TRUE(one->send(2, packet, {}));  // lost, as on a cable without an end
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/nic-00002"));
  const auto two = open(folder, 2);
  ASSERT_NE(two, nullptr);
  for (unsigned i = 0; i < 10; ++i)
    turns.turn(*one, at_one);
  EXPECT_TRUE(one->send(2, packet, {}));
  for (unsigned i = 0; i < 2; ++i) {
    turns.turn(*two, at_two);
    turns.turn(*one, at_one);
  }
  EXPECT_EQ(at_two.packets.size(), 1U);
  ::close(told[0]);
  ::close(told[1]);
}

// A process that speaks to the socket of a NIC by its own means.
class Stranger {
 public:
  Stranger(const Folder& folder, std::string_view name)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string path = folder.path() + "/" + std::string(name);
    std::ranges::copy(path, std::begin(to.sun_path));
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  // Without `memory` if that is negative.
  void say(std::span<const std::byte> bytes, int memory) const {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    iovec part{.iov_base = copy.data(), .iov_len = copy.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof memory)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (memory >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof memory);
      std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
    }
    EXPECT_EQ(::sendmsg(socket_, &message, MSG_NOSIGNAL), static_cast<ssize_t>(copy.size()));
  }

 private:
  int socket_;
};

struct SharedMemory {
  explicit SharedMemory(std::size_t wanted, bool sealed = true)
      : bytes(wanted), descriptor(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
    if (sealed) {
      EXPECT_EQ(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    }
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    memory = static_cast<std::byte*>(mapped);
  }
  ~SharedMemory() {
    ::munmap(memory, bytes);
    ::close(descriptor);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::size_t bytes;
  int descriptor;
  std::byte* memory;
};

constexpr std::size_t kRing = WireLocal::kRingBytesMin;

TEST(WireLocal, GreetingsThatAreRefused) {
  Pair pair;
  pair.turns(1);
  const SharedMemory good(kLocalRingHeaderBytes + kRing);
  const SharedMemory shorter(kLocalRingHeaderBytes + kRing - 1);
  const SharedMemory can_shrink(kLocalRingHeaderBytes + kRing, false);
  const auto words = WireLocal::greeting(1, kRing);
  const auto with = [&words](std::size_t at, unsigned value) {
    auto changed = words;
    changed[at] = static_cast<std::byte>(value);
    return std::vector<std::byte>(changed.begin(), changed.end());
  };
  const std::vector<std::byte> plain(words.begin(), words.end());
  std::vector<std::byte> longer = plain;
  longer.push_back({});
  const std::vector<std::pair<std::vector<std::byte>, int>> bad{
      {plain, -1},
      {plain, shorter.descriptor},
      {plain, can_shrink.descriptor},
      {longer, good.descriptor},
      {{plain.begin(), plain.end() - 1}, good.descriptor},
      {with(0, 0), good.descriptor},
      {with(4, 99), good.descriptor},
      {with(8, 0), good.descriptor},
      {with(10, 0x80), good.descriptor},
      {with(11, 0xff), good.descriptor},
      {with(16, 1), good.descriptor},
      {with(23, 1), good.descriptor}};
  std::uint64_t refused = 0;
  for (const auto& [bytes, memory] : bad) {
    const Stranger stranger(pair.folder, "nic-00002");
    stranger.say(bytes, memory);
    pair.turns(2);
    EXPECT_EQ(pair.two->count(Id::kRefused), ++refused) << refused;
  }
  // The process has no NIC with that address.
  const Stranger stranger(pair.folder, "nic-00002");
  const auto other = WireLocal::greeting(77, kRing);
  stranger.say(other, good.descriptor);
  pair.turns(600);
  EXPECT_EQ(pair.two->count(Id::kRefused), ++refused);
  EXPECT_EQ(pair.two->count(Id::kAccepted), 0U);
}

TEST(WireLocal, AnotherProcessCannotTakeAnAddress) {
  Pair pair;
  pair.turns(1);
  const pid_t child = ::fork();
  if (child == 0) {
    const SharedMemory memory(kLocalRingHeaderBytes + kRing);
    const Stranger stranger(pair.folder, "nic-00002");
    LocalRingWriter ring(memory.memory, kRing);
    const bool is_put = ring.put(packet_of(100, 1), {}) == LocalRingWriter::Put::kDone;
    stranger.say(WireLocal::greeting(1, kRing), memory.descriptor);
    ::_exit(is_put ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  pair.turns(5);
  EXPECT_EQ(pair.two->count(Id::kRefused), 1U);
  EXPECT_TRUE(pair.at_two.packets.empty());
  EXPECT_TRUE(pair.two->send(1, packet_of(100, 1), {}));
  pair.turns(2);
  EXPECT_EQ(pair.at_one.packets.size(), 1U);
}

// A NIC in a PID namespace of its own sees number 0 for all processes outside of it.
TEST(WireLocal, ProcessesOfAnotherPidNamespaceProveNothing) {
  Folder folder;
  const auto one = open(folder, 1);
  std::array<int, 2> told{}, go{};
  ASSERT_EQ(::pipe(told.data()), 0);
  ASSERT_EQ(::pipe(go.data()), 0);
  const pid_t outer = ::fork();
  if (outer == 0) {
    constexpr int kRefused = 2;
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(kRefused);
    const pid_t inner = ::fork();
    int status = 0;
    if (inner != 0) ::_exit(::waitpid(inner, &status, 0) == inner ? WEXITSTATUS(status) : 1);
    const auto two =
        WireLocal::open({.directory = folder.path(), .address = 2, .ring_bytes = kRing});
    char word = two ? 'y' : 'n';
    (void)!::write(told[1], &word, 1);
    (void)!::read(go[0], &word, 1);
    Turns turns;
    Received at_two;
    for (unsigned i = 0; i < 10; ++i)
      turns.turn(**two, at_two);
    ::_exit((*two)->count(Id::kAccepted) == 0 && (*two)->count(Id::kRefused) == 1 ? 0 : 1);
  }
  ::close(told[1]);
  char word = 0;
  const bool is_there = ::read(told[0], &word, 1) == 1;
  int status = 0;
  if (is_there) {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      const SharedMemory memory(kLocalRingHeaderBytes + kRing);
      const Stranger other(folder, "nic-00002");
      other.say(WireLocal::greeting(1, kRing), memory.descriptor);
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
    EXPECT_EQ(::write(go[1], "y", 1), 1);
  }
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  for (const int end : {told[0], go[0], go[1]})
    ::close(end);
  if (!is_there) GTEST_SKIP() << "no PID namespace may be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(WireLocal, ManyConnectionsWithoutAGreeting) {
  Pair pair;
  {
    std::vector<std::unique_ptr<Stranger>> strangers;
    for (unsigned i = 0; i < 40; ++i)
      strangers.push_back(std::make_unique<Stranger>(pair.folder, "nic-00002"));
    pair.turns(600);
    EXPECT_EQ(pair.two->count(Id::kRefused), 40U);
  }
  const auto packet = packet_of(100, 1);
  EXPECT_TRUE(pair.one->send(2, packet, {}));
  pair.turns(2);
  EXPECT_EQ(pair.at_two.packets.size(), 1U);
}

// Nothing of a stranger keeps a NIC waiting: a pipe in place of a file, a socket that lingers.
TEST(WireLocal, AStrangersFilesDoNotBlock) {
  Pair pair;
  pair.turns(1);
  ASSERT_EQ(::mkfifo((pair.folder.path() + "/nic-00005.pids").c_str(), 0600), 0);
  EXPECT_EQ(pair.two->route(5, 1, 1), NicAddress{5});
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  linger lingering{.l_onoff = 1, .l_linger = 60};
  socklen_t bytes = sizeof lingering;
  ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &lingering, bytes), 0);
  const Stranger stranger(pair.folder, "nic-00002");
  stranger.say(WireLocal::greeting(1, kRing), socket);
  pair.turns(2);
  EXPECT_EQ(pair.two->count(Id::kRefused), 1U);
  ASSERT_EQ(::getsockopt(socket, SOL_SOCKET, SO_LINGER, &lingering, &bytes), 0);
  EXPECT_EQ(lingering.l_onoff, 0);
  ::close(socket);
}

// One process takes no more than its part of the places for connections.
TEST(WireLocal, AProcessWithManyConnectionsLeavesRoomForOthers) {
  Folder folder;
  auto opened = WireLocal::open({.directory = folder.path(),
                                 .address = 2,
                                 .ring_bytes = kRing,
                                 .peers = 8,
                                 .peers_per_process = 4});
  ASSERT_TRUE(opened);
  const auto two = std::move(*opened);
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<std::unique_ptr<Stranger>> strangers;
    for (unsigned i = 0; i < 20; ++i)
      strangers.push_back(std::make_unique<Stranger>(folder, "nic-00002"));
    (void)!::write(told[1], "y", 1);
    for (;;)
      (void)::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(told[0], &word, 1), 1);
  const auto one = open(folder, 1);
  Turns turns;
  Received at_one, at_two;
  ASSERT_TRUE(one->send(2, packet_of(100, 1), {}));
  for (unsigned i = 0; i < 5; ++i) {
    turns.turn(*one, at_one);
    turns.turn(*two, at_two);
  }
  EXPECT_EQ(two->count(Id::kRefused), 16U);
  EXPECT_EQ(at_two.packets.size(), 1U);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(told[0]);
  ::close(told[1]);
}

// A connection that was only made to prove an address gives its place to one that is used.
TEST(WireLocal, ProofsTakeNoPlaceFromPackets) {
  Folder folder;
  auto opened =
      WireLocal::open({.directory = folder.path(), .address = 2, .ring_bytes = kRing, .peers = 2});
  ASSERT_TRUE(opened);
  const auto two = std::move(*opened);
  std::vector<std::unique_ptr<WireLocal>> others;
  Turns turns;
  Received any, at_last;
  for (NicAddress address = 3; address < 5; ++address) {
    others.push_back(open(folder, address));
    ASSERT_TRUE(others.back()->send(2, packet_of(100, 1), {}));
    turns.turn(*two, any);
    turns.turn(*two, any);
  }
  EXPECT_EQ(any.packets.size(), 2U);
  const auto last = open(folder, 5);
  ASSERT_TRUE(two->send(5, packet_of(100, 1), {}));
  for (unsigned i = 0; i < 10; ++i) {
    turns.turn(*last, at_last);
    turns.turn(*two, any);
  }
  EXPECT_EQ(at_last.packets.size(), 1U);
}

// The process has gone, as far as its socket tells; another still writes into the ring.
TEST(WireLocal, EmptyPacketsAfterTheEndAreNotEndless) {
  Pair pair;
  const auto three = open(pair.folder, 3);
  pair.turns(1);
  const SharedMemory memory(kLocalRingHeaderBytes + kRing);
  LocalRingWriter ring(memory.memory, kRing);
  {
    const Stranger stranger(pair.folder, "nic-00002");
    stranger.say(WireLocal::greeting(3, kRing), memory.descriptor);
    pair.turns(2);
    ASSERT_EQ(pair.two->count(Id::kAccepted), 1U);
  }
  for (unsigned turn = 0; turn < 300; ++turn) {
    while (ring.put({}, {}) == LocalRingWriter::Put::kDone) {
    }
    pair.turns(1);
  }
  EXPECT_LE(pair.at_two.packets.size(), kRing / kLocalRecordHeaderBytes + 1024);
}

// The address is that of a NIC of this process, so the ring is taken; its memory is garbage.
TEST(WireLocal, GarbageInTheMemoryHarmsNoOther) {
  Pair pair;
  auto three = open(pair.folder, 3);
  Received at_three;
  Random random(5);
  const auto packet = packet_of(100, 1);
  for (unsigned round = 0; round < 200; ++round) {
    const SharedMemory memory(kLocalRingHeaderBytes + kRing);
    for (std::size_t at = 0; at < memory.bytes; at += 8) {
      const std::uint64_t word = random.chance(0.3) ? random.next() : random.below(kRing);
      std::memcpy(memory.memory + at, &word, sizeof word);
    }
    if (random.chance(0.7)) {
      const std::uint64_t position = 8 * random.below(kRing / 8);
      std::memcpy(memory.memory, &position, sizeof position);
    }
    const Stranger stranger(pair.folder, "nic-00002");
    stranger.say(WireLocal::greeting(3, kRing), memory.descriptor);
    ASSERT_TRUE(pair.one->send(2, packet, {}));
    pair.turns(3);
    pair.turn(*three, at_three);
  }
  EXPECT_GT(pair.two->count(Id::kBroken), 50U);
  const auto from_one = std::ranges::count(pair.at_two.packets, NicAddress{1},
                                           [](const auto& one) { return one.first; });
  EXPECT_EQ(from_one, 200);
}

}  // namespace
}  // namespace plnet::cassini::soft::wire_local_test
