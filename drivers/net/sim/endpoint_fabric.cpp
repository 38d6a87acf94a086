// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/endpoint_fabric.hpp"

#include <algorithm>
#include <bit>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using kfilnd::FabricEvent;
using OpKind = EndpointOperation::Kind;

namespace {

// The word of an event: kind, then generation and index of the operation, or driver and tag.
constexpr unsigned kKindShift = 60;
constexpr unsigned kHighShift = 32;
constexpr std::uint64_t kHighMask = (1ULL << (kKindShift - kHighShift)) - 1;

unsigned shift_for(std::size_t bytes) {
  return std::max(BlockPool::kLeastShift, static_cast<unsigned>(std::bit_width(bytes - 1)));
}

}  // namespace

SimEndpointFabric::SimEndpointFabric(SimNetwork& network, const EndpointShape& shape,
                                     std::uint64_t seed)
    : network_(network),
      loop_(network.loop()),
      shape_(shape),
      random_(Random(seed).fork("endpoints")) {}

std::uint32_t SimEndpointFabric::add(SimEndpointDriver& driver) {
  const SimEndpointConfig& config = driver.config();
  nics_[config.process.nic_address].host = config.host;
  std::vector<SimEndpointDriver*>& contexts = processes_[config.process];
  const std::size_t context = config.limits.receive_context;
  if (contexts.size() <= context) contexts.resize(context + 1);
  PLNET_CHECK(contexts[context] == nullptr, "two endpoints have the same receive context");
  contexts[context] = &driver;
  drivers_.push_back(&driver);
  return static_cast<std::uint32_t>(drivers_.size() - 1);
}

void SimEndpointFabric::remove(SimEndpointDriver& driver) {
  const auto found = processes_.find(driver.config().process);
  if (found != processes_.end()) {
    std::ranges::replace(found->second, &driver, static_cast<SimEndpointDriver*>(nullptr));
    const bool empty = std::ranges::all_of(found->second, [](auto* one) { return one == nullptr; });
    if (empty) processes_.erase(found);
  }
  std::ranges::replace(drivers_, &driver, static_cast<SimEndpointDriver*>(nullptr));
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    EndpointOperation& operation = operations_[i];
    if (operation.in_use && operation.from == &driver) operation.from = nullptr;
  }
}

void SimEndpointFabric::set_link(std::uint64_t nic_address, bool usable) {
  nics_[nic_address].usable = usable;
  for (SimEndpointDriver* driver : drivers_) {
    if (driver != nullptr && driver->config().process.nic_address == nic_address)
      driver->note_link(usable, nic_address);
  }
}

void SimEndpointFabric::change_nic_address(std::uint64_t from, std::uint64_t to) {
  PLNET_CHECK(nics_.contains(from) && !nics_.contains(to), "a NIC moves to an address of its own");
  nics_[to] = nics_[from];
  nics_.erase(from);
  // A NIC ends operations that it has begun at its own buffer, or the buffer would never come back.
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    EndpointOperation& one = operations_[i];
    if (one.in_use && one.transferring && one.to.nic_address == from) one.to.nic_address = to;
  }
  for (SimEndpointDriver* driver : drivers_) {
    if (driver == nullptr || driver->config().process.nic_address != from) continue;
    const EndpointProcess old = driver->config().process;
    const auto contexts = processes_.find(old);
    if (contexts != processes_.end()) {
      processes_[{to, old.service}] = contexts->second;
      processes_.erase(old);
    }
    driver->note_link(nics_[to].usable, to);
  }
}

EndpointOperation& SimEndpointFabric::start(OpKind kind, SimEndpointDriver& from) {
  std::uint32_t index = first_free_;
  if (index == ~0U) {
    index = static_cast<std::uint32_t>(operations_.size());
    operations_.grow();
  } else {
    first_free_ = operations_[index].next_free;
  }
  EndpointOperation& operation = operations_[index];
  PLNET_CHECK(!operation.in_use && operation.message.empty(), "a free operation has no message");
  operation.kind = kind;
  operation.from = &from;
  operation.index = index;
  operation.tries = 0;
  operation.outcome = {};
  operation.in_use = true;
  operation.transferring = false;
  ++live_;
  return operation;
}

void SimEndpointFabric::make_message(EndpointOperation& operation, std::size_t bytes) {
  PLNET_CHECK(operation.message.empty(), "an operation has one message");
  if (bytes == 0) return;
  operation.message = {static_cast<std::byte*>(network_.pool().take(shift_for(bytes))), bytes};
}

void SimEndpointFabric::schedule(Instant when, Kind kind, const EndpointOperation& operation) {
  loop_.schedule(when, *this,
                 static_cast<std::uint64_t>(kind) << kKindShift |
                     (operation.generation & kHighMask) << kHighShift | operation.index);
}

void SimEndpointFabric::cancel_later(std::uint32_t driver, kfilnd::Tag tag) {
  loop_.schedule_in(drawn_within(random_, shape_.cancel_delay_max), *this,
                    static_cast<std::uint64_t>(Kind::kCancel) << kKindShift |
                        static_cast<std::uint64_t>(driver) << kHighShift | tag);
}

void SimEndpointFabric::on_event(std::uint64_t word) {
  const auto kind = static_cast<Kind>(word >> kKindShift);
  const auto low = static_cast<std::uint32_t>(word);
  const std::uint64_t high = word >> kHighShift & kHighMask;
  if (kind == Kind::kCancel) {
    if (drivers_[high] != nullptr) drivers_[high]->cancel_now(low);
    return;
  }
  EndpointOperation& operation = operations_[low];
  if (!operation.in_use || (operation.generation & kHighMask) != high) return;
  switch (kind) {
    case Kind::kArrive: arrive(operation); break;
    case Kind::kTransfer: transfer(operation); break;
    default: complete(operation); break;
  }
}

bool SimEndpointFabric::reachable(HostId from, std::uint64_t nic_address) const {
  const auto nic = nics_.find(nic_address);
  return nic != nics_.end() && nic->second.usable && network_.reaches(from, nic->second.host);
}

SimEndpointDriver* SimEndpointFabric::endpoint(const EndpointOperation& operation) {
  const auto found = processes_.find(operation.to);
  if (found == processes_.end() || operation.receive_context >= found->second.size())
    return nullptr;
  return found->second[operation.receive_context];
}

void SimEndpointFabric::fail_at(EndpointOperation& operation, Instant when, Errc why) {
  operation.outcome = std::unexpected(why);
  schedule(when, Kind::kComplete, operation);
}

void SimEndpointFabric::depart(EndpointOperation& operation) {
  PLNET_CHECK(operation.in_use && operation.from != nullptr, "an endpoint starts an operation");
  const SimEndpointConfig& config = operation.from->config();
  operation.deadline = network_.now() + shape_.timeout;
  if (!nics_[config.process.nic_address].usable) {
    fail_at(operation, network_.now(), Errc::kNetworkDown);
    return;
  }
  const auto nic = nics_.find(operation.to.nic_address);
  if (nic == nics_.end()) {  // the switch reports it
    const Duration latency = network_.latency(config.host, config.host);
    fail_at(operation, network_.now() + latency, Errc::kNoRoute);
    return;
  }
  std::size_t bytes = operation.message.size();
  if (operation.kind == OpKind::kWrite) bytes += operation.local.length;
  const auto arrives = network_.transit(config.host, nic->second.host, bytes);
  if (!arrives || !nic->second.usable || happens(random_, shape_.message_lost)) {
    fail_at(operation, operation.deadline, Errc::kTimedOut);
    return;
  }
  schedule(*arrives + drawn_within(random_, shape_.reorder_spread), Kind::kArrive, operation);
}

void SimEndpointFabric::arrive(EndpointOperation& operation) {
  const auto nic = nics_.find(operation.to.nic_address);
  if (nic == nics_.end() || !nic->second.usable || !network_.present(nic->second.host)) {
    fail_at(operation, operation.deadline, Errc::kTimedOut);
    return;
  }
  SimEndpointDriver* target = endpoint(operation);
  if (target == nullptr) {
    answer(operation, std::unexpected(Errc::kNoRoute));
  } else if (operation.kind != OpKind::kSend) {
    take_tagged(operation, *target);
  } else if (target->take_message(operation.message)) {
    answer(operation, {});
  } else {
    retry(operation, Errc::kNoSpace);
  }
}

void SimEndpointFabric::retry(EndpointOperation& operation, Errc at_last) {
  if (operation.tries++ < shape_.retries_max) {
    schedule(network_.now() + shape_.retry_after, Kind::kArrive, operation);
  } else {
    answer(operation, std::unexpected(at_last));
  }
}

void SimEndpointFabric::take_tagged(EndpointOperation& operation, SimEndpointDriver& target) {
  if (operation.from == nullptr) {  // its process has gone, and with it the memory
    complete(operation);
    return;
  }
  SimEndpointDriver::Tagged* tagged = target.match(operation.tag, operation.from->config().process);
  const bool reads = operation.kind == OpKind::kRead;
  if (tagged == nullptr || (operation.kind != OpKind::kAnswer && tagged->peer_reads != reads)) {
    retry(operation, Errc::kNotFound);
    return;
  }
  tagged->taken = true;
  if (operation.kind == OpKind::kAnswer) {
    target.end_tagged(operation.tag, FabricEvent::kTaggedMessage, {}, 0, operation.data);
    answer(operation, {});
    return;
  }
  if (operation.local.length > tagged->buffer.length) {
    target.end_tagged(operation.tag, FabricEvent::kTaggedFailed, std::unexpected(Errc::kTooBig), 0,
                      0);
    answer(operation, std::unexpected(Errc::kTooBig));
    return;
  }
  // From here on until transfer() the buffer is in use: a cancel comes too late.
  Instant done = network_.now() + drawn_within(random_, shape_.reorder_spread);
  if (reads) {
    const HostId reader = operation.from->config().host;
    const auto arrives = network_.transit(target.config().host, reader, operation.local.length);
    done = arrives.value_or(operation.deadline);
  }
  operation.transferring = true;
  schedule(done, Kind::kTransfer, operation);
}

void SimEndpointFabric::transfer(EndpointOperation& operation) {
  SimEndpointDriver* target = endpoint(operation);
  SimEndpointDriver::Tagged* tagged = target == nullptr ? nullptr : target->taken(operation.tag);
  if (tagged == nullptr) {  // its process has died
    fail_at(operation, operation.deadline, Errc::kTimedOut);
    return;
  }
  if (operation.from == nullptr) {
    target->end_tagged(operation.tag, FabricEvent::kTaggedFailed, std::unexpected(Errc::kTimedOut),
                       0, 0);
    complete(operation);
    return;
  }
  const SimEndpointDriver& initiator = *operation.from;
  const bool reads = operation.kind == OpKind::kRead;
  const bool there = network_.reaches(target->config().host, initiator.config().host);
  const bool torn = happens(random_, shape_.operation_torn) || (reads && !there);
  const auto length = torn ? static_cast<std::uint32_t>(random_.below(operation.local.length + 1U))
                           : operation.local.length;
  const ArenaWindow near{initiator.arenas(), operation.local};
  const ArenaWindow far{target->arenas(), tagged->buffer};
  LazyMemory* const lazy = network_.lazy_memory();
  const std::uint32_t moved =
      reads ? copy_payload(near, far, length, lazy) : copy_payload(far, near, length, lazy);
  loop_.note(moved);
  if (torn) {
    const Errc why = there ? Errc::kIo : Errc::kTimedOut;
    target->end_tagged(operation.tag, FabricEvent::kTaggedFailed, std::unexpected(why), moved, 0);
    answer(operation, std::unexpected(why));
    return;
  }
  target->end_tagged(operation.tag, reads ? FabricEvent::kTaggedRead : FabricEvent::kTaggedWritten,
                     {}, moved, 0);
  answer(operation, {});
}

// The target's NIC answers the initiator's.
void SimEndpointFabric::answer(EndpointOperation& operation, Result<void> outcome) {
  operation.outcome = outcome;
  if (operation.from == nullptr) {
    complete(operation);
    return;
  }
  const SimEndpointConfig& initiator = operation.from->config();
  const auto nic = nics_.find(operation.to.nic_address);
  const HostId target = nic == nics_.end() ? initiator.host : nic->second.host;
  if (!reachable(target, initiator.process.nic_address) || happens(random_, shape_.answer_lost)) {
    fail_at(operation, operation.deadline, Errc::kTimedOut);
    return;
  }
  const Duration delay =
      network_.latency(target, initiator.host) + drawn_within(random_, shape_.reorder_spread);
  schedule(network_.now() + delay, Kind::kComplete, operation);
}

void SimEndpointFabric::complete(EndpointOperation& operation) {
  PLNET_CHECK(operation.in_use && live_ > 0, "an operation ends once");
  if (operation.from != nullptr) operation.from->operation_done(operation);
  operation.in_use = false;
  operation.from = nullptr;
  ++operation.generation;
  if (!operation.message.empty()) {
    network_.pool().give(operation.message.data(), shift_for(operation.message.size()));
    operation.message = {};
  }
  operation.local = {};
  operation.next_free = first_free_;
  first_free_ = operation.index;
  --live_;
}

}  // namespace plnet::drivers
