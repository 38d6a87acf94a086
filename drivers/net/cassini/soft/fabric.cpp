// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/fabric.hpp"

#include <algorithm>
#include <cstring>

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kLatePerStep = 256;
constexpr unsigned kLongMax = 1024;  // long messages under way without freedom

}  // namespace

Fabric::Fabric(const Freedom& freedom, unsigned flights_max)
    : freedom_(freedom),
      random_(Random(freedom.seed).fork("fabric")),
      late_(freedom.any() ? flights_max : std::min(flights_max, kLongMax)) {}

Fabric::~Fabric() = default;

Nic& Fabric::add(NicOptions options) {
  options.freedom = freedom_;
  PLNET_CHECK(!by_address_.contains(options.address), "each NIC has an address of its own");
  nics_.push_back(std::make_unique<Nic>(options));
  Nic& nic = *nics_.back();
  by_address_[options.address] = &nic;
  nic.attach(this, this);
  return nic;
}

void Fabric::set_link(Nic& nic, bool up) {
  nic.tables().link_up = up;
}

void Fabric::change_address(Nic& nic, NicAddress address) {
  PLNET_CHECK(!by_address_.contains(address), "each NIC has an address of its own");
  by_address_.erase(nic.address());
  nic.set_address(address);
  by_address_[address] = &nic;
  last_nic_ = nullptr;
}

Nic* Fabric::find(NicAddress address) {
  if (last_nic_ != nullptr && last_address_ == address) return last_nic_;
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  last_address_ = address;
  last_nic_ = found->second;
  return last_nic_;
}

Nic* Fabric::reachable(Nic& source, const Message& message) {
  Nic* const target = find(message.destination);
  return target != nullptr && are_joined(source, *target, message) ? target : nullptr;
}

// By the addresses that the message names: a NIC that was given another one meanwhile is not there
// any more, even if another NIC has its old address.
bool Fabric::are_joined(Nic& source, Nic& target, const Message& message) {
  return source.tables().link_up && target.tables().link_up && source.address() == message.source &&
         target.address() == message.destination;
}

unsigned Fabric::step(std::uint64_t now_ns) {
  if (!gate_.try_lock()) return 0;
  const Gate::Held held(gate_, Gate::Held::Already{});
  now_ns_ = now_ns;
  unsigned done = 0;
  for (const auto& nic : nics_) {
    budget_ = kBytesPerStep;
    done += nic->step(now_ns);
  }
  if (!late_.empty()) done += run_late(now_ns);
  return done;
}

bool Fabric::ready(NicAddress /*from*/) {
  return budget_ > 0 && late_.room();
}

// The result has a place before the value changes.
Outcome Fabric::move_atomic(Nic& source, const LocalBuffer& local, Nic& target,
                            const Message& message, Delivery& delivery) {
  AtomicRequest request;
  std::memcpy(&request, local.immediate.data(), sizeof request);
  const bool fetching = fetches(message.operation);
  const Translated here =
      fetching ? source.local_memory(local, message.operation, 0, message.length) : Translated{};
  if (here.code != ReturnCode::kOk) {
    delivery.outcome.code = ReturnCode::kUncor;
    return {.code = here.code, .list = delivery.outcome.list};
  }
  const Translated there = target.portals().memory(delivery, message.operation, 0, message.length);
  delivery.outcome.code =
      there.code == ReturnCode::kOk ? check_atomic(request, delivery.start) : there.code;
  if (delivery.outcome.code == ReturnCode::kOk && there.memory != nullptr) {
    AtomicValue before{};
    target.tables().execute(request, fetching, there.memory, before);
    if (fetching) std::memcpy(here.memory, before.data(), message.length);
  }
  Outcome outcome = delivery.outcome;
  outcome.target_error = outcome.code != ReturnCode::kOk;
  return outcome;
}

bool Fabric::move(Nic& source, const LocalBuffer& local, Nic& target, const Message& message,
                  Delivery& delivery, std::uint32_t& moved, Outcome& outcome) {
  if (is_atomic(message.operation)) {
    moved = delivery.outcome.mlength;
    outcome = move_atomic(source, local, target, message, delivery);
    return true;
  }
  const std::uint32_t left = delivery.outcome.mlength - moved;
  const std::uint32_t length = std::min(left, kSliceBytes);
  const Translated there = target.portals().memory(delivery, message.operation, moved, length);
  const bool immediate = !local.immediate.empty();
  const Translated here =
      immediate ? Translated{} : source.local_memory(local, message.operation, moved, length);
  if (here.code != ReturnCode::kOk) {
    delivery.outcome.code = ReturnCode::kUncor;  // the source could not deliver all its data
    outcome = {.code = here.code, .list = delivery.outcome.list};
    return true;
  }
  if (there.code != ReturnCode::kOk) {
    delivery.outcome.code = there.code;
  } else if (there.memory != nullptr) {
    const std::byte* const from = immediate ? local.immediate.data() : here.memory;
    if (message.operation == Operation::kPut) {
      if (from != nullptr) std::memcpy(there.memory, from, length);
    } else if (here.memory != nullptr) {
      std::memcpy(here.memory, there.memory, length);
    }
  }
  moved += length;
  if (delivery.outcome.code == ReturnCode::kOk && !delivery.cut && length < left) return false;
  outcome = delivery.outcome;
  outcome.target_error = outcome.code != ReturnCode::kOk;
  return true;
}

bool Fabric::move(Flight& flight) {
  if (flight.all_moved) return true;
  Nic& source = *flight.source;
  Nic& target = *flight.target;
  const std::uint32_t before = flight.moved;
  if (!are_joined(source, target, flight.message)) {
    // Cut in the middle: neither end has all of it.
    flight.delivery.outcome.code = ReturnCode::kUncor;
    flight.outcome = {.code = ReturnCode::kUndeliverable};
    flight.all_moved = true;
  } else {
    flight.all_moved = move(source, flight.local, target, flight.message, flight.delivery,
                            flight.moved, flight.outcome);
  }
  budget_ -= flight.moved - before;
  return flight.all_moved;
}

void Fabric::start(NicAddress from, const Message& message, const LocalBuffer& local,
                   const Completion& completion) {
  Nic& source = *find(from);
  if (freedom_.any()) {
    const unsigned number = late_.take();
    Flight& flight = late_[number];
    flight.message = message;
    flight.completion = completion;
    flight.source = &source;
    flight.local = local;
    if (!local.immediate.empty()) {
      std::ranges::copy(local.immediate, flight.bytes.begin());
      flight.local.immediate = {flight.bytes.data(), local.immediate.size()};
    }
    const std::uint64_t delay = random_.between(0, freedom_.delay_ns_max);
    late_.schedule(number, Flight::Stage::kArrives, late_.in_order(message, now_ns_ + delay));
    return;
  }
  // A PUT that cannot read its own memory is never sent.
  if (local.immediate.empty()) {
    const Translated here = source.local_memory(local, message.operation, 0, message.length);
    if (here.code != ReturnCode::kOk) {
      source.completed(message, completion, {.code = here.code});
      return;
    }
  }
  Nic* const target = reachable(source, message);
  if (target == nullptr) {
    source.completed(message, completion, {.code = ReturnCode::kUndeliverable});
    return;
  }
  target->tables().now_ns = now_ns_;
  Delivery delivery = target->portals().begin(message);
  Outcome outcome = delivery.outcome;
  if (outcome.code == ReturnCode::kOk) {
    if (outcome.mlength > kSliceBytes) {  // never of an immediate command: those are short
      const unsigned number = late_.take();
      Flight& flight = late_[number];
      flight.message = message;
      flight.completion = completion;
      flight.source = &source;
      flight.target = target;
      flight.local = local;
      flight.delivery = delivery;
      late_.schedule(number, Flight::Stage::kMoves, now_ns_);
      return;
    }
    std::uint32_t moved = 0;
    (void)move(source, local, *target, message, delivery, moved, outcome);
    budget_ -= moved;
    target->portals().finish(message, delivery);
  }
  source.completed(message, completion, outcome);
}

unsigned Fabric::run_late(std::uint64_t now_ns) {
  budget_ = kBytesPerStep;
  unsigned done = 0;
  for (; done < kLatePerStep && budget_ > 0; ++done) {
    const unsigned number = late_.pop(now_ns);
    if (number == Late::kNone) break;
    Flight& flight = late_[number];
    if (flight.stage == Flight::Stage::kArrives) {
      arrive(flight);
      const bool event_last = random_.chance(freedom_.event_after_answer);
      const std::uint64_t first = now_ns + random_.between(0, freedom_.delay_ns_max);
      const std::uint64_t second = first + random_.between(0, freedom_.delay_ns_max);
      late_.schedule(number, Flight::Stage::kTellsTarget, event_last ? second : first);
      late_.schedule(number, Flight::Stage::kTellsInitiator, event_last ? first : second);
      continue;
    }
    if (!conclude(flight)) {
      // Behind other due flights: they take turns.
      late_.schedule(number, flight.stage, now_ns);
      continue;
    }
    // With freedom each flight reports to both ends, and the second report ends it.
    if (flight.target_told || flight.stage == Flight::Stage::kMoves) {
      late_.give_back(number);
    } else {
      flight.target_told = true;
    }
  }
  return done;
}

void Fabric::arrive(Flight& flight) {
  Nic* const target = reachable(*flight.source, flight.message);
  if (target == nullptr) {
    flight.delivery.outcome.code = ReturnCode::kUndeliverable;
    return;
  }
  const LocalBuffer& local = flight.local;
  if (local.immediate.empty()) {
    const Translated here =
        flight.source->local_memory(local, flight.message.operation, 0, flight.message.length);
    if (here.code != ReturnCode::kOk) {
      flight.delivery.outcome.code = here.code;
      return;
    }
  }
  flight.target = target;
  flight.delivery = target->portals().begin(flight.message);
}

// The bytes move when the target is notified: the entry may be invalidated until then.
bool Fabric::conclude(Flight& flight) {
  if (flight.delivery.outcome.code == ReturnCode::kOk && flight.delivery.portal != 0 &&
      !move(flight))
    return false;
  if (flight.stage != Flight::Stage::kTellsInitiator && flight.target != nullptr)
    flight.target->portals().finish(flight.message, flight.delivery);
  if (flight.stage == Flight::Stage::kTellsTarget) return true;
  Outcome outcome = flight.all_moved ? flight.outcome : flight.delivery.outcome;
  if (flight.delivery.cut) outcome = {.code = ReturnCode::kMstCancelled, .target_error = true};
  if (outcome.code == ReturnCode::kOk && random_.chance(freedom_.acknowledgement_lost)) {
    outcome = {.code = random_.chance(0.5) ? ReturnCode::kUndeliverable : ReturnCode::kCanceled};
  }
  flight.source->completed(flight.message, flight.completion, outcome);
  return true;
}

void Fabric::cut(Nic& nic, unsigned portal, unsigned buffer_id, ListKind list) {
  if (late_.empty()) return;
  for (Flight& flight : late_.flights()) {
    if (flight.used && flight.target == &nic &&
        Portals::uses(flight.delivery, portal, buffer_id, list))
      flight.delivery.cut = true;
  }
}

}  // namespace plnet::cassini::soft
