// SPDX-License-Identifier: BSD-3-Clause
// Functions that kfilnd needs and libfabric lacks: the sender learns of the delivery into a peer's
// buffer, and operations on tagged buffers end at both sides. Bulk moves by fi_read() alone, in
// either direction, so that no peer ever writes into our memory:
//   read:    kAsk → kGrant → fi_read by the asker → kReadDone
//   write:   kOffer → fi_read by the owner of the tag → kFetched → kConfirm
//   answer:  kAnswer → kAnswered           message: kMessage → kDelivered
// A grant is a lease: an asker whose read ends later counts it as failed. kFetched asks whether the
// offered bytes were still there. So a side that gives up tells the other one the truth.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/net/ofi/context.hpp"
#include "drivers/net/ofi/links.hpp"
#include "drivers/net/ofi/memory.hpp"
#include "drivers/net/ofi/rx.hpp"
#include "drivers/net/ofi/tagged.hpp"
#include "drivers/net/ofi/tx.hpp"
#include "drivers/net/ofi/wire.hpp"

namespace plnet::ofi {

class Emulation final : public TxEvents, public RxEvents {
 public:
  Emulation(Context& context, Memory& memory, const AddressRule& rule);

  [[nodiscard]] Result<void> send(const kfilnd::Target& to, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie);
  [[nodiscard]] Result<void> post_tagged(const kfilnd::Target& from, kfilnd::Tag tag,
                                         bool peer_reads, const lnet::Payload& buffer,
                                         std::uint64_t cookie);
  [[nodiscard]] Result<void> cancel_tagged(kfilnd::Tag tag);
  [[nodiscard]] Result<void> read(const kfilnd::Target& peer, kfilnd::Tag tag,
                                  const lnet::Payload& into, std::uint64_t cookie);
  [[nodiscard]] Result<void> write(const kfilnd::Target& peer, kfilnd::Tag tag,
                                   const lnet::Payload& from, std::uint64_t cookie);
  [[nodiscard]] Result<void> answer(const kfilnd::Target& peer, kfilnd::Tag tag, std::uint64_t data,
                                    std::uint64_t cookie);

  // The first turn: the time of operations posted before counts from now.
  void begin();
  // Sends the packets of this turn, and ends overdue operations.
  void flush();
  void shut_down();
  // The last call before the endpoint goes: tells those peers that the provider would not tell.
  void announce_end();
  [[nodiscard]] bool quiet() const;
  // The endpoint is closed: no peer and no provider uses our memory.
  void abort(Errc why);
  [[nodiscard]] Instant next_deadline() const;

  void on_packet(std::span<const std::byte> bytes) override;
  void on_lost_read() override { tx_.on_lost_read(); }
  void on_packet_failed(std::uint32_t packet, Errc why) override;
  void on_read_done(std::uint64_t owner, Result<void> status) override;

  [[nodiscard]] Links& links() { return links_; }
  [[nodiscard]] Transmitter& transmitter() { return tx_; }
  [[nodiscard]] Receiver& receiver() { return rx_; }

 private:
  static constexpr unsigned kRecordsMax = 64;  // in one packet
  static constexpr Duration kPauseMin = std::chrono::microseconds(50);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(10);
  static constexpr std::uint64_t kOwnerIsTagged = 1ULL << 63U;  // in the number of a read

  struct Operation {
    enum class State : std::uint8_t {
      kFree,
      kMessage,
      kPaused,
      kAsking,
      kReading,
      kOffering,
      kAnswering
    };
    State state = State::kFree;
    std::uint32_t generation = 0;
    std::uint32_t link = kNone;
    std::uint32_t packet = kNone;
    std::uint32_t block = kNone;
    std::uint32_t length = 0;
    std::uint64_t cookie = 0;
    std::uint64_t other = 0;  // the number of the tagged buffer at the peer
    lnet::Payload sink;
    Place place;  // of the payload, here
    Instant begun{};
    Instant deadline{};
    Instant due{};
    Instant lease{};
    Duration pause{};
  };

  [[nodiscard]] Result<std::uint32_t> take(const kfilnd::Target& to, std::uint64_t cookie);
  void give(std::uint32_t operation);
  void finish(std::uint32_t operation, Result<void> status);
  [[nodiscard]] std::uint64_t name(std::uint32_t operation) const;
  // The operation of ours with that peer and in that state; kNone, and counted, if there is none.
  [[nodiscard]] std::uint32_t named(std::uint64_t name, std::uint32_t link, Operation::State state);
  [[nodiscard]] std::uint32_t taken(std::uint64_t name, std::uint32_t link,
                                    TaggedBuffer::State state);
  // The place of the payload, or a block for it, if one may be taken. kAgain: none, or none is
  // free.
  [[nodiscard]] Result<Place> local(const lnet::Payload& payload, std::uint32_t& block,
                                    bool may_take = true);
  void end_tagged(std::uint32_t entry, kfilnd::FabricEvent event, Result<void> status,
                  std::uint32_t length = 0, std::uint64_t data = 0);

  [[nodiscard]] bool put(std::uint32_t link, const Record& record);
  void close_packet(std::uint32_t link);
  void post_message(std::uint32_t operation);

  [[nodiscard]] std::uint32_t sender(const PacketHeader& header);
  void restarted(std::uint32_t link, std::uint32_t incarnation);
  void end_what_was_asked(std::uint32_t link);
  void on_message(std::uint32_t link, std::span<const std::byte> bytes);
  void on_record(std::uint32_t link, const Record& record);
  void on_delivered(std::uint32_t link, const Record& record);
  void on_ask(std::uint32_t link, const Record& record);
  void on_grant(std::uint32_t link, const Record& record);
  void on_read_ended(std::uint32_t link, const Record& record);
  void on_offer(std::uint32_t link, const Record& record);
  void on_fetched(std::uint32_t link, const Record& record);
  void on_confirm(std::uint32_t link, const Record& record);
  void on_answer(std::uint32_t link, const Record& record);
  // A buffer is for all contexts of a process. From its first use on it belongs to that context.
  [[nodiscard]] Result<std::uint32_t> match(std::uint32_t link, kfilnd::Tag tag);
  void fetched(std::uint32_t entry, Result<void> status);
  void own_read_done(std::uint32_t operation, Result<void> status);
  void expire();

  Context& context_;
  Memory& memory_;
  Links links_;
  Transmitter tx_;
  Receiver rx_;
  TaggedBuffers tagged_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> owner_;    // by packet: the operation of its message
  std::vector<std::uint32_t> dirty_;    // links with an open packet; capacity: all packets
  std::vector<std::uint16_t> records_;  // by packet: the number of its records
  unsigned paused_ = 0;
  Instant next_scan_{};
  Duration scan_period_;
};

}  // namespace plnet::ofi
