// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/tx.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "drivers/net/ofi/wire.hpp"

namespace plnet::ofi {

Transmitter::Transmitter(Context& context, Links& links, TxEvents& events)
    : context_(context),
      links_(links),
      events_(events),
      packet_bytes_((context.config.limits.message_bytes_max + PacketHeader::kMessageBytes + 63) /
                    64 * 64) {
  const EndpointConfig& config = context.config;
  const std::size_t packets = config.limits.operations_max + config.record_packets;
  const std::size_t reads = config.limits.operations_max + config.tagged_max;
  memory_.resize(packets * packet_bytes_);
  packets_.resize(packets);
  reads_.resize(reads);
  handles_.resize(packets + reads);
  for (auto i = static_cast<std::uint32_t>(packets); i-- > 0;) {
    free_.push_back(i);
    handles_[i].index = i;
  }
  for (auto i = static_cast<std::uint32_t>(reads); i-- > 0;) {
    free_reads_.push_back(i);
    handles_[packets + i].index = i;
    handles_[packets + i].is_read = true;
  }
  waiting_links_.reserve(config.links_max);
  waiting_reads_.reserve(reads);
}

std::uint32_t Transmitter::take() {
  if (free_.empty()) return kNone;
  const std::uint32_t packet = free_.back();
  free_.pop_back();
  PLNET_CHECK(packets_[packet].released && !busy(packet), "a free packet is not under way");
  packets_[packet] = {.released = false};
  return packet;
}

std::span<std::byte> Transmitter::bytes(std::uint32_t packet) {
  PLNET_CHECK(packet < packets_.size(), "a packet of this endpoint");
  return std::span(memory_).subspan(packet * packet_bytes_, packet_bytes_);
}

std::span<const std::byte> Transmitter::content(std::uint32_t packet) {
  return bytes(packet).first(packets_[packet].length);
}

void Transmitter::post(std::uint32_t number, std::uint32_t link_number, std::size_t length) {
  Packet& packet = packets_[number];
  Link& link = links_.at(link_number);
  PLNET_CHECK(!packet.queued && !packet.in_provider, "a packet is under way once");
  PLNET_CHECK(!packet.released && length <= packet_bytes_, "the caller has taken and filled it");
  packet.link = link_number;
  packet.length = static_cast<std::uint32_t>(length);
  packet.posted = context_.now;
  packet.next = kNone;
  if (link.first == kNone && offer(number)) return;
  packet.queued = true;
  if (link.first == kNone) {
    link.first = number;
    link.due = context_.now;
    waiting_links_.push_back(link_number);
  } else {
    packets_[link.last].next = number;
  }
  link.last = number;
}

bool Transmitter::offer(std::uint32_t number) {
  Packet& packet = packets_[number];
  if (!links_.reachable(packet.link)) return false;
  const Link& link = links_.at(packet.link);
  const std::byte* const at = memory_.data() + number * packet_bytes_;
  ssize_t taken = 0;
  if (packet.length <= port_->info->tx_attr->inject_size) {
    taken = fi_inject(port_->endpoint, at, packet.length, link.address);
    if (taken == 0) {
      if (packet.released) give(number);
      return true;
    }
  } else {
    taken = fi_send(port_->endpoint, at, packet.length, region_->descriptor, link.address,
                    &handles_[number].space);
    if (taken == 0) {
      packet.in_provider = true;
      packet.epoch = links_.lend(packet.link);
      return true;
    }
  }
  context_.stats.add(OfiCounters::Id::kProviderBusy);
  // Ends when the peer starts or empties its queue, or at the deadline.
  return false;
}

void Transmitter::release(std::uint32_t number) {
  Packet& packet = packets_[number];
  PLNET_CHECK(!packet.released, "a packet is released once");
  packet.released = true;
  if (!packet.queued && !packet.in_provider) give(number);
}

void Transmitter::give(std::uint32_t number) {
  PLNET_CHECK(free_.size() < packets_.size(), "more packets come back than were lent");
  free_.push_back(number);
}

void Transmitter::read(const ReadRequest& request) {
  PLNET_CHECK(!free_reads_.empty(), "one read for each operation and each tagged buffer");
  PLNET_CHECK(request.length > 0 && request.into.region != nullptr,
              "bytes are read into registered memory");
  const std::uint32_t number = free_reads_.back();
  free_reads_.pop_back();
  ++reads_in_use_;
  reads_[number] = request;
  reads_[number].posted = reads_[number].due = context_.now;
  if (!offer_read(number)) waiting_reads_.push_back(number);
}

bool Transmitter::offer_read(std::uint32_t number) {
  ReadRequest& request = reads_[number];
  if (!links_.reachable(request.link)) return false;
  const Link& link = links_.at(request.link);
  Handle& handle = handles_[packets_.size() + number];
  const ssize_t taken =
      fi_read(port_->endpoint, request.into.at, request.length, request.into.region->descriptor,
              link.address, request.address, request.key, &handle.space);
  if (taken == 0) {
    request.in_provider = true;
    request.epoch = links_.lend(request.link);
    return true;
  }
  context_.stats.add(OfiCounters::Id::kProviderBusy);
  return false;
}

void Transmitter::finish_read(std::uint32_t number, Result<void> status) {
  const std::uint64_t owner = reads_[number].owner;
  reads_[number].in_provider = false;
  free_reads_.push_back(number);
  --reads_in_use_;
  events_.on_read_done(owner, status);
}

void Transmitter::begin() {
  for (Packet& packet : packets_)
    packet.posted = context_.now;
}

unsigned Transmitter::poll(unsigned limit) {
  const ssize_t count =
      fi_cq_read(port_->tx_queue, entries_.data(), std::min<std::size_t>(limit, entries_.size()));
  if (count > 0) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      on_done(*static_cast<const Handle*>(entries_[i].op_context), {});
    return static_cast<unsigned>(count);
  }
  if (count != -FI_EAVAIL) return 0;
  fi_cq_err_entry error{};
  if (fi_cq_readerr(port_->tx_queue, &error, 0) < 1) return 0;
  context_.stats.add(OfiCounters::Id::kProviderErrors);
  if (error.op_context != nullptr)
    on_done(*static_cast<const Handle*>(error.op_context), std::unexpected(errc_of(error.err)));
  return 1;
}

void Transmitter::on_lost_read() {
  constexpr unsigned kBurst = 32;
  while (poll(kBurst) > 0) {
  }
  for (std::uint32_t i = 0; i < reads_.size(); ++i) {
    if (!reads_[i].in_provider) continue;
    links_.take_back(reads_[i].link, reads_[i].epoch);
    finish_read(i, std::unexpected(Errc::kIo));
  }
}

void Transmitter::on_done(const Handle& handle, Result<void> status) {
  if (handle.is_read) {
    links_.take_back(reads_[handle.index].link, reads_[handle.index].epoch);
    finish_read(handle.index, status);
    return;
  }
  Packet& packet = packets_[handle.index];
  links_.take_back(packet.link, packet.epoch);
  packet.in_provider = false;
  const bool released = packet.released;
  if (!status) events_.on_packet_failed(handle.index, status.error());
  if (released) give(handle.index);
}

void Transmitter::flush() {
  for (std::size_t i = 0; i < waiting_links_.size();) {
    const std::uint32_t number = waiting_links_[i];
    flush_link(number);
    if (links_.at(number).first == kNone) {
      waiting_links_[i] = waiting_links_.back();
      waiting_links_.pop_back();
    } else {
      ++i;
    }
  }
  for (std::size_t i = 0; i < waiting_reads_.size();) {
    const std::uint32_t number = waiting_reads_[i];
    ReadRequest& read = reads_[number];
    const bool late = context_.now >= read.deadline;
    if (!late && context_.now < read.due) {
      ++i;
      continue;
    }
    if (!late && !offer_read(number)) {
      read.due = again(read.posted);
      ++i;
      continue;
    }
    waiting_reads_[i] = waiting_reads_.back();
    waiting_reads_.pop_back();
    if (late) finish_read(number, std::unexpected(Errc::kTimedOut));
  }
}

void Transmitter::flush_link(std::uint32_t link_number) {
  Link& link = links_.at(link_number);
  while (link.first != kNone) {
    const std::uint32_t number = link.first;
    Packet& packet = packets_[number];
    const bool late = context_.now >= packet.posted + context_.config.connect_time;
    const bool released = packet.released;
    if (!late && context_.now < link.due) return;
    if (!late && !offer(number)) {
      link.due = again(packet.posted);
      // The peer's queue may be full because its process has gone.
      if (context_.now - packet.posted > kRetryMax) links_.refresh(link_number);
      return;
    }
    link.first = packet.next;
    packet.queued = false;
    if (!late) continue;
    events_.on_packet_failed(number, Errc::kNoRoute);
    if (released) give(number);
  }
}

void Transmitter::abort() {
  for (std::uint32_t i = 0; i < packets_.size(); ++i) {
    if (!packets_[i].in_provider) continue;
    links_.take_back(packets_[i].link, packets_[i].epoch);
    packets_[i].in_provider = false;
    if (packets_[i].released) give(i);
  }
  reads_in_use_ = 0;
  waiting_reads_.clear();
}

}  // namespace plnet::ofi
