// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/command_queue.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/shared_word.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

// The device fills a slot of a window with it behind the first word, which is 0, so that a write
// whose last words are still to come is not taken for an earlier command with the same first ones.
constexpr std::uint64_t kUnwritten = 0x9d3f'71c2'e85b'a604;

void empty_slot(std::byte* window) {
  for (unsigned i = kSlotBytes - 8; i > 0; i -= 8)
    release_word(window + i, kUnwritten);
  release_word(window, 0);
}
bool is_half_written(std::byte* window) {
  for (unsigned i = 8; i < kSlotBytes; i += 8)
    if (acquire_word(window + i) == kUnwritten) return true;
  return false;
}

// Compares word by word: the process may be writing the first of them.
bool same_slot(const std::byte* window, const std::byte* ring) {
  for (unsigned i = 0; i < kSlotBytes; i += 8) {
    auto* const word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(window + i));
    std::uint64_t there = 0;
    std::memcpy(&there, ring + i, sizeof there);
    if (std::atomic_ref(*word).load(std::memory_order_acquire) != there) return false;
  }
  return true;
}
unsigned size_code_of(unsigned bytes) {
  return bytes <= 32 ? 0 : bytes <= 64 ? 1 : bytes <= 128 ? 2 : 3;
}

// Checks a command's size against its opcode, and that the queue has such a command.
ReturnCode size_of(const CommandView& command, unsigned size_code) {
  const auto want = [&](unsigned code) {
    return size_code == code ? ReturnCode::kOk : ReturnCode::kCmdInvalidArg;
  };
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  const auto length = static_cast<unsigned>(layout::IdcPut::Length::get(command.at));
  if (command.type == CommandType::kDma) {
    if (opcode == DmaOpcode::kPut || opcode == DmaOpcode::kGet ||
        opcode == DmaOpcode::kRendezvousPut)
      return want(1);
    if (opcode == DmaOpcode::kNomatchPut || opcode == DmaOpcode::kNomatchGet) return want(0);
    if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic) return want(2);
    return ReturnCode::kIllegalOp;
  }
  if (command.type == CommandType::kIdc) {
    if (opcode == DmaOpcode::kCstate) return length == 32 ? want(0) : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kPut)
      return length >= 16 && length <= 240 ? want(size_code_of(length))
                                           : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kAtomic && length == layout::SmallAtomic::kBytes) return want(0);
    if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
      return length == layout::IdcAtomic::kBytes ? want(1) : ReturnCode::kCmdInvalidArg;
    if (opcode == DmaOpcode::kSmallMessage)  // never less than 64 bytes
      return length >= 32 && length <= 224 ? want(size_code_of(length < 64 ? 64 : length))
                                           : ReturnCode::kCmdInvalidArg;
    return ReturnCode::kIllegalOp;
  }
  if (command.type == CommandType::kCt) {
    if (command.opcode > static_cast<unsigned>(CtOpcode::kTriggeredEvent))
      return ReturnCode::kIllegalOp;
    return want(static_cast<CtOpcode>(command.opcode) == CtOpcode::kTriggeredDma ? 2 : 1);
  }
  return want(1);
}

template <class Layout>
bool reserved_set(const std::byte* at) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < Layout::kBytes / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i * 8, sizeof word);
    wrong |= word & ~Layout::kUsed[i];
  }
  return wrong != 0;
}

bool has_reserved_bits(const CommandView& command) {
  const auto opcode = static_cast<DmaOpcode>(command.opcode);
  switch (command.type) {
    case CommandType::kDma:
      if (command.bytes == layout::DmaAtomic::kBytes)
        return reserved_set<layout::DmaAtomic>(command.at);
      return command.bytes == layout::FullDma::kBytes
                 ? reserved_set<layout::FullDma>(command.at)
                 : reserved_set<layout::NomatchDma>(command.at);
    case CommandType::kIdc:
      if (opcode == DmaOpcode::kCstate) return reserved_set<layout::Cstate>(command.at);
      if (opcode == DmaOpcode::kPut) return reserved_set<layout::IdcPut>(command.at);
      if (opcode == DmaOpcode::kAtomic || opcode == DmaOpcode::kFetchingAtomic)
        return command.bytes == layout::SmallAtomic::kBytes
                   ? reserved_set<layout::SmallAtomic>(command.at)
                   : reserved_set<layout::IdcAtomic>(command.at);
      return reserved_set<layout::IdcMessage>(command.at);
    case CommandType::kCt: return reserved_set<layout::Counting>(command.at);
    case CommandType::kCq:
      if (static_cast<CqOpcode>(command.opcode) == CqOpcode::kSetstate)
        return reserved_set<layout::SetState>(command.at);
      // Producers clear only the first word of the short ones.
      return command.opcode >= static_cast<unsigned>(CqOpcode::kAppend) &&
             reserved_set<layout::Target>(command.at);
  }
  return false;
}

}  // namespace

void CommandQueue::PageDelete::operator()(std::byte* memory) const {
  if (!is_borrowed) ::operator delete[](memory, std::align_val_t{kPageBytes});
}

CommandQueue::Pages CommandQueue::pages(std::size_t bytes, std::byte* borrowed) {
  if (borrowed != nullptr) return Pages(borrowed, PageDelete{.is_borrowed = true});
  auto* const memory =
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kPageBytes}));
  std::memset(memory, 0, bytes);
  return Pages(memory, PageDelete{});
}

CommandQueue::CommandQueue(const Setup& asked, NicStats& stats)
    : setup(asked),
      stats_(stats),
      slots_(asked.slots),
      units_(asked.slots * 2),
      ring_(pages(std::size_t{asked.slots} * kSlotBytes, asked.memory)),
      launch_(pages(kLaunchPageBytes)) {
  PLNET_CHECK(slots_ % (kPageBytes / kSlotBytes) == 0 && slots_ <= kQueueSlotsMax,
              "a ring is whole pages");
  release_word(launch_.get(), kFirstSlot);
  for (const std::size_t window : {kWindow64, kWindow128Aligned, kWindow128Skip}) {
    for (unsigned slot = 0; slot < kWindowSlots; ++slot)
      empty_slot(launch_.get() + window + std::size_t{slot} * kSlotBytes);
  }
  write_status();
}

unsigned CommandQueue::behind() const {
  return written_ >= read_ ? written_ - read_ : written_ + (units_ - kFirstUnit) - read_;
}

void CommandQueue::advance(unsigned units) {
  read_ += units;
  if (read_ >= units_) read_ = kFirstUnit;
}

// The next unit whose low-latency writes have the same slot of a window: they have 16.
unsigned CommandQueue::same_window_slot_after(unsigned unit) const {
  constexpr unsigned kLap = 2 * kWindowSlots;
  if (unit + kLap < units_) return unit + kLap;
  const unsigned first = unit % kLap;
  return first < kFirstUnit ? first + kLap : first;
}

// A low-latency write appears as a non-zero first word where the next one must be. Its contents are
// in the ring as well, since the device may always reject it. A window has 16 slots: the slot may
// already hold a later write, which then equals the ring further on.
bool CommandQueue::poll_window(std::size_t window, unsigned unit, unsigned units) {
  std::byte* const at =
      launch_.get() + window + std::size_t{unit / 2 & (kWindowSlots - 1)} * kSlotBytes;
  if (acquire_word(at) == 0 || is_half_written(at)) return false;
  const unsigned ring = units_ - kFirstUnit;
  bool mine = true;
  unsigned ahead = 0;
  for (unsigned there = unit; !same_slot(at, ring_.get() + std::size_t{there} * kUnitBytes);) {
    mine = false;
    there = same_window_slot_after(there);
    const unsigned further = (there + ring - unit) % ring;
    if (further <= ahead) return false;  // half written: it will be complete soon
    ahead = further;
  }
  if (mine) empty_slot(at);
  written_ = unit + units >= units_ ? kFirstUnit : unit + units;
  stats_.add(NicStats::Id::kLowLatency);
  return true;
}

bool CommandQueue::poll_windows() {
  if (poll_window(kWindow64, written_, 2)) return true;
  if (written_ % 4 == 0) return poll_window(kWindow128Aligned, written_, 4);
  const unsigned skipped = written_ + 2 >= units_ ? kFirstUnit : written_ + 2;
  return poll_window(kWindow128Skip, skipped, 4);
}

// False: a producer that continues past its announced position overwrites unread commands. One slot
// stays unused. Low-latency writes from `from` on may have led past the doorbell, which then tells
// nothing new.
bool CommandQueue::take_doorbell(std::uint64_t word, unsigned from) {
  doorbell_ = word;
  if (word < kFirstSlot || word >= slots_) return false;
  const unsigned ring = units_ - kFirstUnit;
  const unsigned position = static_cast<unsigned>(word) * 2;
  if ((position + ring - from) % ring <= (written_ + ring - from) % ring) return true;
  const unsigned free = (published_ + ring - 2 - written_) % ring;
  if ((position + ring - written_) % ring > free) return false;
  written_ = position;
  return true;
}

bool CommandQueue::poll(Random* rejecting, double chance) {
  if (stopped()) return false;
  const unsigned led_from = std::exchange(led_from_, 0);
  const unsigned from = led_from != 0 ? led_from : written_;
  // The doorbell first: an earlier low-latency write is then seen as well, and no stale data stays
  // in a window.
  std::uint64_t word = acquire_word(launch_.get());
  bool windows = false;
  while (poll_windows()) {
    windows = true;
    if (rejecting != nullptr && rejecting->chance(chance)) {
      ++rejected_;
      stats_.add(NicStats::Id::kLowLatencyRejected);
    }
  }
  if (word != doorbell_ && !take_doorbell(word, from)) {
    fail(ring_.get() + std::size_t{read_} * kUnitBytes, ReturnCode::kCmdInvalidArg);
    return false;
  }
  if (windows && doorbell_ != 0) {
    // The same value may be rung again one lap later, so the doorbell is cleared.
    const std::atomic_ref doorbell(*reinterpret_cast<std::uint64_t*>(launch_.get()));
    if (doorbell.compare_exchange_strong(word, 0)) doorbell_ = 0;
  }
  // Rung meanwhile: perhaps before low-latency writes that were just taken.
  if (windows && acquire_word(launch_.get()) != doorbell_) led_from_ = from;
  return written_ != read_;
}

CommandView CommandQueue::next() {
  while (!stopped() && read_ != written_) {
    const std::byte* at = ring_.get() + std::size_t{read_} * kUnitBytes;
    const auto size_code = static_cast<unsigned>(layout::Command::CmdSize::get(at));
    const CommandView command{at, kUnitBytes << size_code,
                              static_cast<CommandType>(layout::Command::CmdType::get(at)),
                              static_cast<unsigned>(layout::Command::Opcode::get(at))};
    if (const ReturnCode code = check(command); code != ReturnCode::kOk) {
      fail(at, code);
      return {};
    }
    if (command.opcode != 0) {
      if (has_reserved_bits(command)) stats_.add(NicStats::Id::kReservedBits);
      return command;
    }
    advance(command.bytes / kUnitBytes);
  }
  return {};
}

ReturnCode CommandQueue::check(const CommandView& command) const {
  const unsigned units = command.bytes / kUnitBytes;
  const auto size_code = static_cast<unsigned>(layout::Command::CmdSize::get(command.at));
  if (read_ % units != 0) return ReturnCode::kCmdAlignError;
  if (units > behind()) return ReturnCode::kCmdInvalidArg;  // its end was never written
  if (command.opcode == 0) {
    // Padding is recognised by its first word; the rest of a NOOP may be anything.
    std::uint64_t word = 0;
    std::memcpy(&word, command.at, sizeof word);
    const std::uint64_t dirt = word & ~std::uint64_t{0xff};
    if (command.type == CommandType::kIdc || command.type == CommandType::kDma)
      return dirt == 0 && setup.transmit ? ReturnCode::kOk
             : dirt == 0 && word == 0    ? ReturnCode::kOk
                                         : ReturnCode::kCmdInvalidArg;
    if (command.type == CommandType::kCt && !setup.transmit) return ReturnCode::kIllegalOp;
    return size_code == 1 ? ReturnCode::kOk : ReturnCode::kCmdInvalidArg;
  }
  const bool target = command.type == CommandType::kCq &&
                      command.opcode >= static_cast<unsigned>(CqOpcode::kAppend);
  if (target == setup.transmit) return ReturnCode::kIllegalOp;
  if (command.type == CommandType::kCq) {
    const auto last = static_cast<unsigned>(target ? CqOpcode::kSetstate : CqOpcode::kLcid);
    if (command.opcode > last) return ReturnCode::kIllegalOp;
  }
  return size_of(command, size_code);
}

bool CommandQueue::pair_complete(const CommandView& first) const {
  if (read_ % 4 != 0 || behind() < 4) return false;
  const std::byte* const second = first.at + kSlotBytes;
  return static_cast<CommandType>(layout::Command::CmdType::get(second)) == CommandType::kCq &&
         layout::Command::Opcode::get(second) == 0 && layout::Command::CmdSize::get(second) == 1;
}

void CommandQueue::stop(const CommandView& command, ReturnCode code) {
  fail(command.at, code);
}

void CommandQueue::fail(const std::byte* at, ReturnCode code) {
  failure_ = code;
  failed_unit_ = read_;
  failed_byte_ = std::to_integer<std::uint8_t>(at[0]);
  stats_.add(NicStats::Id::kCommandFailures);
  write_status();
}

void CommandQueue::write_status() {
  std::byte block[8]{};
  using Status = layout::CqStatus;
  Status::RdPtr::set(block, read_ / 2);
  Status::Rejected::set(block, rejected_);
  Status::ReturnCodeField::set(block, static_cast<std::uint64_t>(failure_));
  if (stopped()) {
    block[4] = static_cast<std::byte>(failed_byte_);
    Status::FailLoc32::set(block, failed_unit_ & 1);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  release_word(ring_.get(), word);
  published_ = read_;
}

void CommandQueue::publish(bool burst_ended) {
  if (read_ == published_ || stopped()) return;
  const unsigned ring = units_ - kFirstUnit;
  const unsigned done = read_ >= published_ ? read_ - published_ : read_ + ring - published_;
  const bool empty = read_ == written_;
  unsigned often = 1;
  if (setup.policy == UpdatePolicy::kHighFreqEmpty) often = ring / 16;
  if (setup.policy == UpdatePolicy::kLowFreqEmpty || setup.policy == UpdatePolicy::kLowFreq)
    often = ring / 4;
  const bool tells_empty = setup.policy != UpdatePolicy::kLowFreq;
  if (done >= often || (burst_ended && empty && tells_empty)) write_status();
}

}  // namespace plnet::cassini::soft
