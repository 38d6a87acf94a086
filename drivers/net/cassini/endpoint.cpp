// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/endpoint.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::cassini {

using Id = CassiniCounters::Id;
using kfilnd::FabricCompletion;
using kfilnd::PeerAddress;

Endpoint::Endpoint(Device& device, const EndpointConfig& config, kfilnd::EndpointEvents& events,
                   Tracer* tracer)
    : device_(device),
      config_(config),
      upper_(events),
      context_(device.arenas(), device.map(),
               2ULL * config.limits.operations_max + config.buffers_max + 4ULL * kBurst),
      layout_(layout_of(config)),
      memory_(layout_.total()),
      blocks_(region(layout_.total() - layout_.bulk - layout_.messages, layout_.messages),
              config.limits.message_bytes_max, region(layout_.total() - layout_.bulk, layout_.bulk),
              config.bulk_bytes_max,
              region(layout_.receive_events + layout_.transmit_events, layout_.spare)),
      tx_(context_, blocks_,
          {.operations_max = config.limits.operations_max,
           .not_ready_time = config.not_ready_time,
           .remote_not_ready_time = config.remote_not_ready_time}),
      rx_(context_, blocks_, device.backend(),
          {.tagged_max = config.limits.operations_max,
           .buffers_max = config.buffers_max,
           .bytes_max = config.receive_bytes_max,
           .message_bytes_max = config.limits.message_bytes_max,
           .min_free_shift = device.info().min_free_shift}),
      link_up_(device.info().link_up),
      told_nic_(device.info().nic_address) {
  config_.limits.peer_contexts = kContextsMax;
  context_.tracer = tracer;
  context_.pid_bits = device.info().pid_bits;
  context_.own = device.own();
}

std::span<std::byte> Endpoint::region(std::size_t begin, std::size_t length) const {
  return memory_.bytes().empty() ? std::span<std::byte>{} : memory_.bytes().subspan(begin, length);
}

Outcome<std::unique_ptr<Endpoint>> Endpoint::create(Device& device, const EndpointConfig& config,
                                                    kfilnd::EndpointEvents& events,
                                                    Tracer* tracer) {
  if (!is_possible(config, device.info()))
    return failure(Errc::kInvalid, "the limits exceed those of a Cassini endpoint");
  std::unique_ptr<Endpoint> endpoint(new Endpoint(device, config, events, tracer));
  if (auto done = endpoint->register_memory(); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = endpoint->build_receive(); !done) return std::unexpected(std::move(done.error()));
  if (auto done = endpoint->build_transmit(); !done)
    return std::unexpected(std::move(done.error()));
  return endpoint;
}

Outcome<void> Endpoint::register_memory() {
  PLNET_CHECK(!mapped_, "the memory is mapped once");
  if (memory_.bytes().empty()) return failure(Errc::kNoMemory, "no memory for queues and blocks");
  const auto mapping =
      device_.backend().map(device_.lni(), memory_.bytes().data(), memory_.bytes().size(),
                            kMapPin | kMapRead | kMapWrite);
  if (!mapping) return backend_failure("map", mapping.error());
  mapping_ = mapping->handle;
  mapped_ = true;
  blocks_.mapping = *mapping;
  return {};
}

Endpoint::~Endpoint() {
  const bool receive_gone = tear_down_receive();
  const bool unmapped = tear_down_transmit() && receive_gone &&
                        (!mapped_ || device_.backend().unmap(mapping_).has_value());
  if (!unmapped) memory_.abandon();  // the NIC may still write to this memory, so it stays mapped
}

Result<Process> Endpoint::process_of(PeerAddress address) const {
  const auto index = static_cast<std::uint32_t>(address);
  if (index >= addresses_.size() || !addresses_[index].in_use ||
      addresses_[index].generation != address >> 32U)
    return std::unexpected(Errc::kInvalid);
  return addresses_[index].process;
}

Result<PeerAddress> Endpoint::resolve(std::uint64_t nic_address, unsigned service) {
  // All ones mean "any" on the fabric.
  if (nic_address >= kNicAddressMax || service >= (1U << context_.pid_bits) - 1)
    return std::unexpected(Errc::kInvalid);
  auto free = std::ranges::find(addresses_, false, &Address::in_use);
  if (free == addresses_.end()) {
    if (addresses_.size() == kAddressesMax) return std::unexpected(Errc::kNoMemory);
    free = addresses_.emplace(addresses_.end());
  }
  free->process = {.nic = static_cast<std::uint32_t>(nic_address), .pid = service};
  free->in_use = true;
  return static_cast<PeerAddress>(free->generation) << 32U |
         static_cast<PeerAddress>(free - addresses_.begin());
}

void Endpoint::forget(PeerAddress address) {
  if (!process_of(address)) return;
  Address& forgotten = addresses_[static_cast<std::uint32_t>(address)];
  forgotten.in_use = false;
  ++forgotten.generation;
}

Result<Transmitter::Request> Endpoint::request(const Target& to, std::uint64_t cookie) const {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  const auto process = process_of(to.address);
  if (!process) return std::unexpected(process.error());
  if (to.receive_context >= kContextsMax) return std::unexpected(Errc::kInvalid);
  return Transmitter::Request{
      .to = *process, .receive_context = to.receive_context, .cookie = cookie};
}

Result<void> Endpoint::send(const Target& to, std::span<const std::byte> header,
                            const lnet::Payload& payload, std::uint64_t cookie) {
  const auto whom = request(to, cookie);
  return whom ? tx_.send(*whom, header, payload) : std::unexpected(whom.error());
}

Result<void> Endpoint::read_tagged(const Target& peer, Tag tag, const lnet::Payload& into,
                                   std::uint64_t cookie) {
  const auto whom = request(peer, cookie);
  return whom ? tx_.read(*whom, tag, into) : std::unexpected(whom.error());
}

Result<void> Endpoint::write_tagged(const Target& peer, Tag tag, const lnet::Payload& from,
                                    std::uint64_t cookie) {
  const auto whom = request(peer, cookie);
  return whom ? tx_.write(*whom, tag, from) : std::unexpected(whom.error());
}

Result<void> Endpoint::answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                     std::uint64_t cookie) {
  const auto whom = request(peer, cookie);
  return whom ? tx_.answer(*whom, tag, data) : std::unexpected(whom.error());
}

Result<void> Endpoint::post_tagged(const Target& from, Tag tag, bool peer_reads,
                                   const lnet::Payload& buffer, std::uint64_t cookie) {
  const auto process = process_of(from.address);
  if (!process) return std::unexpected(process.error());
  return rx_.post_tagged(*process, tag, peer_reads, buffer, cookie);
}

Result<void> Endpoint::cancel_tagged(Tag tag) {
  return rx_.cancel_tagged(tag);
}

Result<void> Endpoint::post_multi_receive(const Fragment& buffer, std::uint64_t cookie) {
  return rx_.post_multi_receive(buffer, cookie);
}

void Endpoint::shut_down() {
  if (context_.shut_down) return;
  context_.shut_down = true;
  tx_.shut_down();
  rx_.shut_down();
}

bool Endpoint::quiet() const {
  return context_.shut_down && tx_.in_flight() == 0 && rx_.in_use() == 0 &&
         context_.completions.empty();
}

unsigned Endpoint::tell() {
  unsigned told = 0;
  const bool usable = running() && link_up_;
  if (usable != told_usable_ || context_.own.nic != told_nic_) {
    told_usable_ = usable;
    told_nic_ = context_.own.nic;
    upper_.on_link(usable, told_nic_);
    ++told;
  }
  std::array<FabricCompletion, kBurst> burst;
  // Two bursts, since each queue may have delivered one in this turn.
  for (unsigned round = 0; round < 2 && !context_.completions.empty(); ++round) {
    std::size_t count = 0;
    while (count < kBurst && !context_.completions.empty())
      burst[count++] = context_.completions.pop();
    upper_.on_completions({burst.data(), count});
    told += static_cast<unsigned>(count);
  }
  return told;
}

unsigned Endpoint::poll(Instant now) {
  context_.now = now;
  unsigned work = 0;
  if (context_.completions.size() <= kBurst) {
    if (receives()) work += rx_.poll(kBurst);
    if (transmits()) work += tx_.poll(kBurst);
  }
  if (context_.receive_failed) recover_receive();
  if (context_.transmit_failed) recover_transmit();
  if (now >= link_due_) look_at_link();
  work += tell();
  if (receiving_ && !context_.receive_failed) rx_.flush();
  if (transmitting_ && !context_.transmit_failed) tx_.flush();
  // Operations that ended in between are reported in the next turn, so request one.
  return work + (context_.completions.empty() ? 0U : 1U);
}

Instant Endpoint::next_deadline() const {
  const Instant queues = std::min(rx_.next_deadline(), tx_.next_deadline());
  Instant due = std::min(queues, link_due_);
  if (draining_) due = std::min(due, drain_until_);
  if (context_.shut_down) return due;  // after a shutdown nothing is rebuilt
  if (!receiving_) due = std::min(due, receive_due_);
  if (!transmitting_) due = std::min(due, transmit_due_);
  return due;
}

void Endpoint::look_at_link() {
  link_due_ = context_.now + config_.link_period;
  const auto seen = device_.link();
  if (!seen) {
    context_.stats.add(Id::kBackendFailures);
    link_up_ = false;
    return;
  }
  link_up_ = seen->up;
  context_.own.nic = seen->nic_address;
}

bool Endpoint::rebuilt(bool done, Instant& due) {
  context_.stats.add(done ? Id::kRebuilds : Id::kRebuildFailures);
  if (!done) due = context_.now + config_.link_period;
  return done;
}

void Endpoint::recover_receive() {
  if (context_.now < receive_due_) return;
  if (receiving_) {
    // The NIC releases the memory before it is returned.
    if (!tear_down_receive()) {
      receive_due_ = context_.now + config_.link_period;
      return;
    }
    receiving_ = false;
    rx_.abort(why_aborted());
    receive_due_ = context_.now + kRebuildPause;
    return;
  }
  // Waits until completions have been reported: there is room for those of one incarnation.
  if (context_.shut_down || context_.completions.size() > kBurst) return;
  context_.receive_failed = !rebuilt(build_receive().has_value(), receive_due_);
}

bool Endpoint::end_operations() {
  if (!draining_) {
    draining_ = true;
    drain_until_ = context_.now + config_.drain_time;
  }
  if (tx_.drain(why_aborted())) return true;
  if (context_.now < drain_until_) return false;
  tx_.quarantine(why_aborted());
  return true;
}

void Endpoint::recover_transmit() {
  if (transmitting_) {
    if (transmits() && !end_operations()) return;
    if (context_.now < transmit_due_) return;
    if (!tear_down_transmit()) {
      transmit_due_ = context_.now + config_.link_period;
      return;
    }
    transmitting_ = draining_ = false;
    tx_.detach();
    transmit_due_ = context_.now + kRebuildPause;
    return;
  }
  if (context_.shut_down || context_.now < transmit_due_) return;
  if (context_.completions.size() > kBurst) return;
  context_.transmit_failed = !rebuilt(build_transmit().has_value(), transmit_due_);
}

}  // namespace plnet::cassini
