// SPDX-License-Identifier: BSD-3-Clause
// Outgoing packets, each sent as soon as the provider takes it, and reads of peers' memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/net/ofi/context.hpp"
#include "drivers/net/ofi/device.hpp"
#include "drivers/net/ofi/links.hpp"
#include "drivers/net/ofi/memory.hpp"

namespace plnet::ofi {

// The outcome, reported from within poll() and flush().
class TxEvents {
 public:
  virtual ~TxEvents() = default;
  // The provider does not send it, or not any more. Also called for a packet that was released.
  virtual void on_packet_failed(std::uint32_t packet, Errc why) = 0;
  virtual void on_read_done(std::uint64_t owner, Result<void> status) = 0;
};

struct ReadRequest {
  std::uint64_t owner = 0;
  std::uint32_t link = kNone;
  Place into;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::uint32_t length = 0;
  Instant deadline{};  // until the provider has taken it
  Instant posted{};
  Instant due{};  // the time of the next offer
  bool in_provider = false;
  std::uint32_t epoch = 0;  // of its link, when the provider took it
};

class Transmitter {
 public:
  Transmitter(Context& context, Links& links, TxEvents& events);

  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  void attach(Port& port, const Region& region) {
    port_ = &port;
    region_ = &region;
  }

  // A packet for the caller until it is released; kNone: all are in use.
  [[nodiscard]] std::uint32_t take();
  [[nodiscard]] std::span<std::byte> bytes(std::uint32_t packet);
  [[nodiscard]] std::span<const std::byte> content(std::uint32_t packet);
  void post(std::uint32_t packet, std::uint32_t link, std::size_t length);
  [[nodiscard]] std::uint32_t link_of(std::uint32_t packet) const { return packets_[packet].link; }
  [[nodiscard]] std::size_t packets() const { return packets_.size(); }
  // The caller needs it no more: it is free when the provider is done, too.
  void release(std::uint32_t packet);
  // Whether it waits for the provider, or the provider has it.
  [[nodiscard]] bool busy(std::uint32_t packet) const {
    return packets_[packet].queued || packets_[packet].in_provider;
  }
  void read(const ReadRequest& request);

  void begin();
  unsigned poll(unsigned limit);
  // A read has failed, and the provider (shm) does not say which. It moves bytes within fi_read():
  // all reads that were not reported as done have failed.
  void on_lost_read();
  // Offers again what the provider had no room for.
  void flush();
  [[nodiscard]] bool waiting() const { return !waiting_links_.empty() || !waiting_reads_.empty(); }
  [[nodiscard]] unsigned reads() const { return reads_in_use_; }
  // The endpoint is closed: it reports nothing any more.
  void abort();

 private:
  struct Handle {  // returned by the provider; its own space comes first
    fi_context2 space{};
    std::uint32_t index = 0;
    bool is_read = false;
  };
  struct Packet {
    Instant posted{};
    std::uint32_t length = 0;
    std::uint32_t link = kNone;
    std::uint32_t next = kNone;
    bool queued = false;
    bool in_provider = false;
    bool released = true;
    std::uint32_t epoch = 0;  // of its link, when the provider took it
  };

  static constexpr Duration kRetryMax = std::chrono::milliseconds(10);

  // The time of the next offer of an operation refused since `posted`: at once first, then more and
  // more seldom. Over IP each offer to an absent peer is an attempt to connect.
  [[nodiscard]] Instant again(Instant posted) const {
    return context_.now + std::min((context_.now - posted) / 8, kRetryMax);
  }
  // False: no room now.
  [[nodiscard]] bool offer(std::uint32_t packet);
  [[nodiscard]] bool offer_read(std::uint32_t read);
  void flush_link(std::uint32_t link);
  void give(std::uint32_t packet);
  void finish_read(std::uint32_t read, Result<void> status);
  void on_done(const Handle& handle, Result<void> status);

  Context& context_;
  Links& links_;
  TxEvents& events_;
  Port* port_ = nullptr;
  const Region* region_ = nullptr;
  std::size_t packet_bytes_;
  std::vector<std::byte> memory_;
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_;
  std::vector<ReadRequest> reads_;
  std::vector<std::uint32_t> free_reads_;
  unsigned reads_in_use_ = 0;
  std::array<fi_cq_msg_entry, 32> entries_{};  // filled by poll()
  std::vector<Handle> handles_;                // of packets, then of reads
  std::vector<std::uint32_t> waiting_links_;   // capacity: all links
  std::vector<std::uint32_t> waiting_reads_;   // capacity: all reads
};

}  // namespace plnet::ofi
