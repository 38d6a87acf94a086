// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/books/ledger.hpp"

#include <utility>

#include <fmt/format.h>

namespace plnet::sim {

namespace {

constexpr std::uint64_t kIndexMask = (1U << 24U) - 1;

const char* name_of(Story story) {
  switch (story) {
    case Story::kPutWildcard: return "put-wildcard";
    case Story::kPutUnique: return "put-unique";
    case Story::kPutLazy: return "put-lazy";
    case Story::kPutManaged: return "put-managed";
    case Story::kGet: return "get";
    case Story::kPutAfter: return "put-after";
    case Story::kGetAfter: return "get-after";
  }
  return "";
}

std::string trail_of(const Operation& operation) {
  const Trail& trail = operation.trail;
  switch (trail.state) {
    case Trail::State::kNone: return "";
    case Trail::State::kHanded:
      return fmt::format(", waits at node {} for {}", trail.node, trail.hop);
    case Trail::State::kSent:
      return fmt::format(", last seen on its way from node {} to {}", trail.node, trail.hop);
    case Trail::State::kThere: return fmt::format(", last seen at node {}", trail.node);
    case Trail::State::kEnded: return fmt::format(", ended at node {}", trail.node);
  }
  return "";
}

}  // namespace

Ledger::Ledger(std::size_t operations, std::function<void(std::uint64_t)> note)
    : operations_(operations), note_(std::move(note)) {
  PLNET_CHECK(operations <= kIndexMask, "an id has 24 bits for the index");
}

Operation* Ledger::begin(Instant deadline) {
  Operation* const operation = operations_.take();
  if (operation == nullptr) return nullptr;
  *operation = Operation{};
  operation->serial = next_serial_++;
  operation->deadline = deadline;
  open_.push_back(*operation);
  ++open_count_;
  ++tally_.begun;
  return operation;
}

Operation* Ledger::find(std::uint64_t id) {
  const std::uint64_t index = id & kIndexMask;
  if (index >= operations_.capacity()) return nullptr;
  Operation& operation = operations_.at(static_cast<std::uint32_t>(index));
  return operation.serial == id >> 24 && operation.serial != 0 ? &operation : nullptr;
}

void Ledger::cancel_begin(Operation& operation) {
  --tally_.begun;
  ++tally_.refused;
  operation.unlink();
  --open_count_;
  operation.serial = 0;
  operations_.give(&operation);
}

void Ledger::ended(Operation& operation) {
  if (std::exchange(operation.ended, true)) {
    return violate("ended twice: " + describe(*this, operation));
  }
  operation.unlink();
  --open_count_;
  forget_if_over(operation);
}

void Ledger::died(Operation& operation) {
  ++tally_.died;
  operation.ended = true;
  operation.unlink();
  --open_count_;
  forget_if_over(operation);
}

void Ledger::delivered(Operation& operation) {
  if (std::exchange(operation.delivered, true)) {
    return violate("delivered twice: " + describe(*this, operation));
  }
  ++tally_.delivered;
  tally_.bytes += operation.length;
  forget_if_over(operation);
}

// The record of an undelivered message stays, since it may still be delivered.
void Ledger::forget_if_over(Operation& operation) {
  if (!operation.ended) return;
  if (!is_get(operation.story) && !operation.delivered) return;
  operation.serial = 0;
  operations_.give(&operation);
}

bool Ledger::is_silent(const Operation& operation) {
  const bool put = operation.serial != 0 && !is_get(operation.story);
  return put && operation.ended && operation.sent_well && !operation.delivered &&
         !operation.receive_failed && !operation.ack_wanted;
}

std::uint64_t Ledger::never_delivered() const {
  std::uint64_t count = 0;
  for_each_silent([&](const Operation&) { ++count; });
  return count;
}

void Ledger::violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

std::string describe(const Ledger& ledger, const Operation& operation) {
  return fmt::format(
      "{} {:#x} node {} shard {} to node {}, {} bytes{}{}{}{}{}{}", name_of(operation.story),
      ledger.id_of(operation), operation.initiator, operation.shard, operation.target,
      operation.length, operation.ack_wanted ? ", ack" : "", operation.sent ? ", sent" : "",
      operation.delivered ? ", delivered" : "", operation.answered ? ", answered" : "",
      operation.ended ? ", ended" : "", trail_of(operation));
}

}  // namespace plnet::sim
