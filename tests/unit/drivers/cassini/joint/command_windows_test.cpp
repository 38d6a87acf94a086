// SPDX-License-Identifier: BSD-3-Clause
// Low-latency writes between the driver's side of a command queue and the device's, without a NIC:
// each command arrives once and whole, in whichever order the two sides read and write.
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/soft/command_queue.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::windows_test {
namespace {

constexpr unsigned kSlots = 128;
constexpr unsigned kWindowSlots = 16;

// The words of a PUT of 64 bytes.
using Put = std::array<std::uint64_t, 8>;

Put put(std::uint64_t user) {
  Put words{};
  auto* const at = reinterpret_cast<std::byte*>(words.data());
  soft::layout::Command::CmdType::set(at, static_cast<std::uint64_t>(soft::CommandType::kDma));
  soft::layout::Command::CmdSize::set(at, 1);
  soft::layout::Command::Opcode::set(at, static_cast<std::uint64_t>(soft::DmaOpcode::kPut));
  soft::layout::FullDma::UserPtr::set(at, user);
  return words;
}
std::uint64_t user_of(const soft::CommandView& command) {
  return soft::layout::FullDma::UserPtr::get(command.at);
}

// Both sides, one step of one side at a time.
struct CassiniWindows : ::testing::Test {
  soft::NicStats stats;
  soft::CommandQueue device{{.slots = kSlots, .transmit = true}, stats};
  CommandQueue driver{
      {.slots = kSlots, .commands = device.commands(), .launch_page = device.launch_page()}};

  void write(std::uint64_t user) {
    ASSERT_TRUE(driver.push(SizeCode::k64, put(user)));
    driver.ring_low_latency();
  }
  // The first words of a command reach the ring.
  void write_half(std::uint64_t user, unsigned words) {
    const Put whole = put(user);
    std::memcpy(next_place(), whole.data(), std::size_t{words} * 8);
  }
  [[nodiscard]] std::byte* next_place() {
    return device.commands() + std::size_t{driver.write_unit()} * kUnitBytes;
  }
  // The device takes all that was announced: by the doorbell first, then by windows.
  void look() {
    device.poll(nullptr, 0);
    device.poll(nullptr, 0);
  }
  // The next command that the device has taken is executed.
  std::optional<std::uint64_t> execute() {
    const soft::CommandView command = device.next();
    if (command.at == nullptr) return std::nullopt;
    const std::uint64_t user = user_of(command);
    device.consume(command);
    device.publish(true);
    return user;
  }
  void run(std::uint64_t user) {
    write(user);
    look();
    EXPECT_EQ(execute(), user);
    EXPECT_EQ(execute(), std::nullopt);
  }
  // Equal commands in all slots of the window.
  void fill_window(std::uint64_t user) {
    for (unsigned i = 0; i < kWindowSlots; ++i)
      run(user);
  }
};

TEST_F(CassiniWindows, HalfACommandBehindAnEqualOneIsNotTaken) {
  fill_window(7);
  for (unsigned words = 1; words < 8; ++words) {
    write_half(7, words);
    look();
    EXPECT_EQ(execute(), std::nullopt) << words;
  }
  run(7);
}

TEST_F(CassiniWindows, ACommandThatEqualsAnEarlierOneIsTakenOnce) {
  fill_window(7);
  for (unsigned lap = 0; lap < 4 * kSlots; ++lap) {
    ASSERT_TRUE(driver.push(SizeCode::k64, put(7)));
    look();  // before the driver writes to the window
    const bool early = execute().has_value();
    driver.ring_low_latency();  // copies what the device has left of the command
    look();
    EXPECT_EQ(execute().has_value(), !early);
    EXPECT_EQ(execute(), std::nullopt);
    // The window may equal the place only when the next command is there.
    write_half(7, 1);
    look();
    EXPECT_EQ(execute(), std::nullopt);
  }
}

// The device erases the command while the driver copies it, so the window has half of it.
TEST_F(CassiniWindows, AWindowWithHalfAnEarlierCommandAnnouncesNoHalf) {
  for (unsigned words = 1; words < 8; ++words) {
    fill_window(7);
    const unsigned slot = driver.write_unit() / 2 % kWindowSlots;
    run(7);
    std::byte* const window =
        device.launch_page() + launch::kWindow64 + std::size_t{slot} * kSlotBytes;
    const std::byte* const erased = next_place();
    std::memcpy(window + std::size_t{words} * 8, erased + std::size_t{words} * 8,
                kSlotBytes - std::size_t{words} * 8);
    for (unsigned i = 1; i < kWindowSlots; ++i)
      run(7);
    write_half(7, words);
    look();
    EXPECT_EQ(execute(), std::nullopt) << words;
    run(7);
  }
}

// The slot of the window equals a command that has been taken, but not executed yet.
TEST_F(CassiniWindows, ACommandThatWaitsAnnouncesNoOther) {
  for (unsigned i = 0; i < 3 * kWindowSlots; ++i)
    write(7);
  look();
  write_half(8, 1);
  look();
  for (unsigned i = 0; i < 3 * kWindowSlots; ++i)
    EXPECT_EQ(execute(), 7U);
  EXPECT_EQ(execute(), std::nullopt);
  run(8);
}

TEST_F(CassiniWindows, DoorbellsThatLowLatencyWritesHavePassed) {
  std::uint64_t user = 0;
  for (unsigned round = 0; round < 3 * kSlots; ++round) {
    const std::uint64_t first = user;
    ASSERT_TRUE(driver.push(SizeCode::k64, put(user++)));
    driver.ring();
    const unsigned more = round % (2 * kWindowSlots);
    for (unsigned i = 0; i < more; ++i)
      write(user++);
    look();
    for (std::uint64_t expected = first; expected < user; ++expected)
      ASSERT_EQ(execute(), expected);
    ASSERT_EQ(execute(), std::nullopt);
    ASSERT_FALSE(device.stopped());
  }
}

// A process that writes everywhere, and announces all of it, leaves no slot unused.
TEST_F(CassiniWindows, WritesPastTheUnusedSlotAreNotTaken) {
  const Put command = put(7);
  for (unsigned slot = kFirstUnit / 2; slot < kSlots; ++slot)
    std::memcpy(device.commands() + std::size_t{slot} * kSlotBytes, command.data(), kSlotBytes);
  for (unsigned slot = 0; slot < kWindowSlots; ++slot)
    std::memcpy(device.launch_page() + launch::kWindow64 + std::size_t{slot} * kSlotBytes,
                command.data(), kSlotBytes);
  look();
  unsigned taken = 0;
  while (execute())
    ++taken;
  EXPECT_EQ(taken, kSlots - kFirstUnit / 2 - 1);
}

// cxi_prov_hw.h: cxi_cq_emit_idc_amo() sets two fields of a word and leaves the rest as it is.
TEST_F(CassiniWindows, ASmallAtomicOfAnyKindIsWhole) {
  using Atomic = soft::layout::SmallAtomic;
  for (unsigned operation = 0; operation < 15; ++operation) {
    for (unsigned type = 0; type < 15; ++type) {
      std::array<std::uint64_t, 4> words{};
      auto* const at = reinterpret_cast<std::byte*>(words.data());
      std::memcpy(at + 16, next_place() + 16, 8);
      soft::layout::Command::CmdType::set(at, static_cast<std::uint64_t>(soft::CommandType::kIdc));
      soft::layout::Command::Opcode::set(at, static_cast<std::uint64_t>(soft::DmaOpcode::kAtomic));
      Atomic::Length::set(at, Atomic::kBytes);
      Atomic::AtomicOp::set(at, operation);
      Atomic::AtomicKind::set(at, type);
      ASSERT_TRUE(driver.push(SizeCode::k32, words));
      driver.ring_low_latency();
      look();
      ASSERT_TRUE(execute().has_value()) << operation << ", " << type;
    }
  }
}

// The last bytes of the data fill a word in part; the rest of it stays as it is.
TEST_F(CassiniWindows, ImmediateDataThatEndsWithAnyByteIsWhole) {
  using Header = soft::layout::IdcPut;
  for (unsigned last = 0; last < 256; ++last) {
    std::array<std::uint64_t, 16> words{};
    auto* const at = reinterpret_cast<std::byte*>(words.data());
    std::memcpy(at, next_place(), kUnitBytes);
    std::memcpy(at + 80, at, 8);
    words[0] = words[1] = 0;
    soft::layout::Command::CmdType::set(at, static_cast<std::uint64_t>(soft::CommandType::kIdc));
    soft::layout::Command::CmdSize::set(at, static_cast<std::uint64_t>(SizeCode::k128));
    soft::layout::Command::Opcode::set(at, static_cast<std::uint64_t>(soft::DmaOpcode::kPut));
    Header::Length::set(at, 81);
    std::memset(at + 16, 0, 64);
    at[80] = static_cast<std::byte>(last);
    ASSERT_TRUE(driver.push(SizeCode::k128, words));
    driver.ring_low_latency();
    look();
    ASSERT_TRUE(execute().has_value()) << last;
  }
}

// The device needs the NOOP behind a change of the profile.
TEST_F(CassiniWindows, AnEqualChangeOfTheProfileIsTakenWithItsNoop) {
  const auto change = [&] {
    ASSERT_TRUE(driver.push_profile(3));
    driver.ring_low_latency();
    look();
    const soft::CommandView first = device.next();
    ASSERT_NE(first.at, nullptr);
    EXPECT_TRUE(device.pair_complete(first));
    device.consume(first);
    EXPECT_EQ(execute(), std::nullopt);
    device.publish(true);
  };
  for (unsigned i = 0; i < kWindowSlots; ++i)
    change();
  std::array<std::uint64_t, 8> words{};
  std::memcpy(words.data(),
              device.launch_page() + launch::kWindow128 + low_latency_offset(driver.write_unit()),
              sizeof words);
  std::memcpy(next_place(), words.data(), sizeof words);
  look();
  EXPECT_EQ(device.next().at, nullptr);
  change();
}

// The commands of a random stream, told apart by little, so that windows often hold an equal one.
class Stream {
 public:
  explicit Stream(std::uint64_t seed) : random_(seed) {}
  struct Command {
    SizeCode size{};
    std::array<std::uint64_t, 16> words{};
    [[nodiscard]] std::size_t count() const {
      return (kUnitBytes << static_cast<unsigned>(size)) / 8;
    }
  };
  Command next() {
    Command command;
    auto* const at = reinterpret_cast<std::byte*>(command.words.data());
    const std::uint64_t kind = random_.below(8);
    command.size = kind < 4 ? SizeCode::k64 : kind < 7 ? SizeCode::k32 : SizeCode::k128;
    const bool message = command.size == SizeCode::k128;
    soft::layout::Command::CmdType::set(
        at,
        static_cast<std::uint64_t>(message ? soft::CommandType::kIdc : soft::CommandType::kDma));
    soft::layout::Command::CmdSize::set(at, static_cast<std::uint64_t>(command.size));
    soft::layout::Command::Opcode::set(
        at,
        static_cast<std::uint64_t>(message                         ? soft::DmaOpcode::kSmallMessage
                                   : command.size == SizeCode::k64 ? soft::DmaOpcode::kPut
                                                                   : soft::DmaOpcode::kNomatchPut));
    if (message) soft::layout::IdcMessage::Length::set(at, 128);
    command.words[command.count() - 1] = random_.below(2);
    return command;
  }

 private:
  Random random_;
};

// The CPUs that this process may use, one for each thread: only threads that run at the same time
// ring a doorbell while it is cleared.
void use_cpu(unsigned which) {
  cpu_set_t may{};
  if (::sched_getaffinity(0, sizeof may, &may) != 0) return;
  cpu_set_t one{};
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &may) && which-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one) != 0) (void)::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

// A driver and a device that run at the same time, and give up their CPUs at any moment: between a
// command and its write to the window, in the middle of a lap.
struct CassiniWindowsBetweenThreads : ::testing::Test {
  static constexpr unsigned kCommands = 200'000;
  static constexpr unsigned kAtOnce = 8;  // commands that the device executes between two looks
  static constexpr std::uint64_t kSeed = 5;

  soft::NicStats stats;
  soft::CommandQueue device{{.slots = 64, .transmit = true}, stats};
  std::atomic<unsigned> rung = 0;    // commands that the device must see
  std::atomic<unsigned> writes = 0;  // to windows; odd: one of them is in progress
  std::atomic<bool> failed = false;

  void drive() {
    use_cpu(1);
    CommandQueue driver(
        {.slots = 64, .commands = device.commands(), .launch_page = device.launch_page()});
    Stream stream(kSeed);
    Random choice(11);
    for (unsigned i = 0; i < kCommands; ++i) {
      const Stream::Command command = stream.next();
      while (!driver.push(command.size, std::span(command.words).first(command.count()))) {
        driver.ring();
        rung = i;
        if (failed) return;
        std::this_thread::yield();
      }
      if (choice.chance(0.001)) std::this_thread::yield();
      if (choice.chance(0.2)) continue;
      if (choice.chance(0.1)) {
        driver.ring();
      } else {
        ++writes;
        driver.ring_low_latency();
        ++writes;
      }
      rung = i + 1;
    }
    driver.ring();
    rung = kCommands;
  }
  // A slot with an earlier announcement may be half overwritten: the device then sees it later.
  [[nodiscard]] bool execute(Stream& expected, unsigned& taken) {
    const unsigned written = writes;
    const unsigned must_see = written % 2 == 0 ? rung.load() : 0;
    device.poll(nullptr, 0);  // the doorbell, and the writes before it
    device.poll(nullptr, 0);  // the writes behind it
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const soft::CommandView command = device.next();
      if (command.at == nullptr)
        return !device.stopped() && (taken >= must_see || writes != written);
      const Stream::Command wanted = expected.next();
      if (command.bytes != wanted.count() * 8 ||
          std::memcmp(command.at, wanted.words.data(), command.bytes) != 0)
        return false;
      ++taken;
      device.consume(command);
    }
    return true;
  }
};

TEST_F(CassiniWindowsBetweenThreads, EachCommandArrivesOnceAndWhole) {
  unsigned taken = 0;
  std::thread producer([&] { drive(); });
  std::thread consumer([&] {
    use_cpu(0);
    Stream expected(kSeed);
    Random choice(13);
    while (taken < kCommands && !failed) {
      if (!execute(expected, taken)) failed = true;
      device.publish(true);
      if (choice.chance(0.001)) std::this_thread::yield();
    }
  });
  producer.join();
  consumer.join();
  EXPECT_FALSE(failed) << "command " << taken
                       << (device.stopped() ? ", the queue has stopped" : "");
  EXPECT_GT(stats.get(soft::NicStats::Id::kLowLatency), kCommands / 10);
}

}  // namespace
}  // namespace plnet::cassini::windows_test
