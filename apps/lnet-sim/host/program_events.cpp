// SPDX-License-Identifier: BSD-3-Clause
// The checks of events.
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/host/program.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kEntryOutlives = std::chrono::milliseconds(50);

}  // namespace

void Program::violate(const char* what, const Operation* operation, const Event& event) {
  ledger_.violate(fmt::format(
      "{}: node {} shard {}, event {}, status {}, {} of {} bytes at {}; {}", what, host_.number(),
      shard_, static_cast<int>(event.kind), event.status ? "ok" : name_of(event.status.error()),
      event.accepted_length, event.requested_length, event.offset,
      operation == nullptr ? "no operation" : describe(ledger_, *operation)));
}

void Program::on_event(const Event& event) {
  auto& record = *static_cast<Record*>(event.user);
  ledger_.note(static_cast<std::uint64_t>(event.kind) << 56 ^ record.id << 8 ^
               event.accepted_length ^ (event.status ? 0U : 1U << 30U) ^
               std::uint64_t{host_.number()} << 40);
  if (!record.live) return violate("an event after the last one", nullptr, event);
  if (event.md != record.md && !record.md.is_none()) {
    return violate("an event of another descriptor", nullptr, event);
  }
  if (record.kind == Record::Kind::kInitiator) {
    initiator_event(record, event);
  } else {
    target_event(record, event);
  }
}

// --- Events at the initiator ---

void Program::initiator_event(Record& record, const Event& event) {
  Operation* const operation = ledger_.find(record.id);
  if (operation == nullptr || operation->ended) {
    return violate("an event of an operation that has ended", operation, event);
  }
  // LNet unlinks the descriptor of an operation that has no answer in time.
  const bool is_expired = operation->expires <= now_;
  if (!event.status && event.kind != EventKind::kUnlink)
    operation->why = is_expired ? Errc::kTimedOut : event.status.error();
  switch (event.kind) {
    case EventKind::kSend:
      if (operation->sent) violate("sent twice", operation, event);
      operation->sent = true;
      operation->sent_well = event.status.has_value();
      break;
    case EventKind::kAck:
      if (operation->answered || !operation->ack_wanted || is_get(operation->story)) {
        violate("an unexpected ACK", operation, event);
      }
      operation->answered = event.status.has_value();
      if (!event.status) break;
      ++ledger_.tally().acknowledged;
      if (!operation->delivered) violate("acknowledged, not delivered", operation, event);
      if (event.accepted_length != std::min(operation->length, operation->room)) {
        violate("the ACK has another length", operation, event);
      }
      break;
    case EventKind::kReply:
      if (operation->answered || !is_get(operation->story)) {
        violate("an unexpected REPLY", operation, event);
      }
      operation->answered = event.status.has_value();
      if (event.status) check_reply(record, *operation, event);
      break;
    case EventKind::kUnlink: break;
    default: violate("an event of the wrong kind", operation, event);
  }
  if (event.unlinked) operation_over(record, *operation);
}

void Program::check_reply(const Record& record, const Operation& operation, const Event& event) {
  ++ledger_.tally().replies;
  ledger_.tally().bytes += event.accepted_length;
  const std::uint32_t length = std::min(operation.length, operation.room);
  if (event.accepted_length != length) return violate("a REPLY too short", &operation, event);
  if (!host_.slots().holds(record.slot, 0, {operation.content, operation.offset, length})) {
    violate("corrupted REPLY", &operation, event);
  }
}

void Program::operation_over(Record& record, Operation& operation) {
  const bool refused = record.refused;
  const std::uint64_t id = record.id;
  give_back(record);
  if (refused) return;  // begin_one() cancels it
  World& world = host_.world();
  const bool well = operation.sent_well && (operation.answered || !operation.ack_wanted);
  const bool after = operation.story == Story::kPutAfter || operation.story == Story::kGetAfter;
  const bool again = !well && repeats(operation.story) && !operation.abandoned && !unlinking_;
  if (!again) --under_way_;
  if (!well) ++ledger_.tally().failed;
  note_rpc(operation, well);
  if (!well && !after) world.trails.failed(operation);
  if (after) world.after->ended(operation, well);
  if (!is_get(operation.story) && !after && !operation.delivered) {
    Host& there = *world.hosts[operation.target];
    if (there.state() == Host::State::kUp && operation.story == Story::kPutLazy) {
      there.program(0).attach_later(id, now_ + kEntryOutlives);
    } else if (there.state() == Host::State::kUp && operation.story != Story::kPutWildcard &&
               operation.entry_shard < there.shards() && !well) {
      there.program(operation.entry_shard).unlink_later(operation.entry, now_ + kEntryOutlives);
    }
  }
  if (again) {
    wait_to_send_again({.story = operation.story,
                        .target = operation.target,
                        .length = operation.length,
                        .attempt = operation.attempt,
                        .begun = operation.rpc_begun,
                        .sent = operation.begun});
  }
  ledger_.ended(operation);
  if (left_ > 0 && !begin_scheduled_ && !unlinking_) {
    begin_scheduled_ = true;
    later(now_ + Duration{static_cast<std::int64_t>(
                     random_.below(static_cast<std::uint64_t>(plan_.pause.count()) + 1))},
          Deed::kBegin, 0);
    host_.ring(shard_);
  }
}

void Program::note_rpc(const Operation& operation, bool well) {
  RpcBook* const book = host_.world().rpcs;
  if (book == nullptr || unlinking_ || operation.abandoned) return;
  const Instant now = host_.world().loop.now();
  if (well) {
    book->answered(host_.number(), operation.rpc_begun, now);
  } else {
    book->failed(host_.number(), operation.rpc_begun, now, operation.why);
  }
}

// --- Events at the target ---

void Program::target_event(Record& record, const Event& event) {
  if (event.kind == EventKind::kPut) {
    Operation* const operation = ledger_.find(event.header_data);
    if (!event.status) {
      if (operation != nullptr) operation->receive_failed = true;
    } else if (record.kind == Record::Kind::kSource) {
      violate("a PUT into memory to get from", operation, event);
    } else if (operation == nullptr) {
      violate("a PUT that was never begun, or was delivered before", operation, event);
    } else {
      check_put(record, *operation, event);
    }
  } else if (event.kind == EventKind::kGet) {
    if (record.kind != Record::Kind::kSource && record.kind != Record::Kind::kAfter) {
      violate("a GET from the wrong MD", nullptr, event);
    }
  } else if (event.kind != EventKind::kUnlink) {
    violate("an event of the wrong kind", nullptr, event);
  }
  if (!event.unlinked) return;
  check_stripes(record);
  const bool again = record.kind == Record::Kind::kWildcard && !unlinking_;
  give_back(record);
  if (again) (void)attach_wildcard();
}

void Program::check_put(Record& record, Operation& operation, const Event& event) {
  const bool wildcard = record.kind == Record::Kind::kWildcard;
  const bool managed = record.kind == Record::Kind::kManaged;
  const bool after = record.kind == Record::Kind::kAfter;
  const World& world = host_.world();
  if (operation.target != host_.number()) {
    violate("delivered to the wrong node", &operation, event);
  }
  if (wildcard != (operation.story == Story::kPutWildcard) ||
      managed != (operation.story == Story::kPutManaged) ||
      after != (operation.story == Story::kPutAfter) ||
      (!wildcard && !after && record.id != operation.entry) ||
      event.match_bits != operation.entry) {
    violate("delivered to the wrong MD", &operation, event);
  }
  // A wildcard entry chooses the offset itself; the content identifies the operation.
  if (!wildcard && event.offset != operation.offset) {
    violate("delivered at another offset", &operation, event);
  }
  if (!world.hosts[operation.initiator]->has(event.initiator.nid) ||
      !world.hosts[operation.initiator]->has(event.source.nid)) {
    violate("delivered with another node as the initiator", &operation, event);
  }
  const std::uint32_t length = std::min(operation.length, operation.room);
  if (event.requested_length != operation.length || event.accepted_length != length) {
    violate("delivered with another length", &operation, event);
  } else if (after) {
    // All of them land at the same place: the content may already belong to another operation.
  } else if (!host_.slots().holds(record.slot, event.offset, {operation.content, 0, length})) {
    violate("delivered corrupted", &operation, event);
  }
  if (managed && record.landed_count < kStripes) {
    record.landed[record.landed_count++] = {operation.content, event.offset, length};
  }
  ledger_.delivered(operation);
}

}  // namespace plnet::sim
