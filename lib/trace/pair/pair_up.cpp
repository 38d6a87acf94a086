// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/pair/pair_up.hpp"

#include <algorithm>

namespace plnet::trace {

namespace {

std::uint64_t between(std::uint64_t first, std::uint64_t last) {
  return last > first ? last - first : 0;
}

}  // namespace

void Sightings::add(std::uint64_t time_ns) {
  if (count == 0) first_ns = time_ns;
  last_ns = time_ns;
  ++count;
}

std::uint64_t Exchange::latency_ns() const {
  return is_answered() ? between(request.first_ns, reply.last_ns) : 0;
}

std::uint64_t Exchange::beyond_ns() const {
  return is_answered() ? between(request.last_ns, reply.first_ns) : 0;
}

PairUp::Key PairUp::key(ExchangeKind kind, const lnet::Nid& client, std::uint64_t first,
                        std::uint64_t second) {
  return {client, static_cast<std::uint32_t>(kind), first, second};
}

PairUp::Entry* PairUp::find(const Key& key) {
  const auto number = numbers_.find(key);
  if (number == numbers_.end()) return nullptr;
  return numbered(number->second);
}

// Null: forgotten.
PairUp::Entry* PairUp::numbered(std::uint64_t number) {
  if (number < oldest_ || number - oldest_ >= entries_.size()) return nullptr;
  return &entries_[number - oldest_];
}

void PairUp::name(Entry& entry, const Key& key) {
  if (entry.key_count == entry.keys.size()) return;
  if (!numbers_.try_emplace(key, entry.exchange.number).second) return;
  entry.keys[entry.key_count++] = key;
}

void PairUp::forget_oldest() {
  const Entry& oldest = entries_.front();
  for (std::size_t i = 0; i < oldest.key_count; ++i)
    numbers_.erase(oldest.keys[i]);
  if (sink_ != nullptr) sink_->on_exchange(oldest.exchange);
  entries_.pop_front();
  ++oldest_;
}

void PairUp::finish() {
  while (!entries_.empty())
    forget_oldest();
}

// The exchange of a request: a new one, or a known one whose request was seen again.
PairUp::Entry& PairUp::begin(const Message& message, ExchangeKind kind, const Key& key,
                             std::uint32_t operation) {
  const RecordHeader& record = message.record.header;
  if (Entry* const known = find(key)) {
    const bool same_place = record.direction == known->direction && record.hop == known->hop;
    if (same_place) {
      ++known->exchange.resends;
    } else {
      known->exchange.request.add(record.time_ns);
    }
    return *known;
  }
  while (entries_.size() >= exchanges_max_)
    forget_oldest();
  Entry& entry = entries_.emplace_back();
  entry.direction = record.direction;
  entry.hop = record.hop;
  entry.exchange = {.number = oldest_ + entries_.size() - 1,
                    .kind = kind,
                    .client = record.source,
                    .server = record.destination,
                    .portal = message.record.portal().value_or(0),
                    .operation = operation,
                    .request_bytes = record.payload_length};
  entry.exchange.request.add(record.time_ns);
  name(entry, key);
  return entry;
}

Paired PairUp::add(const Message& message) {
  if (message.record.header.direction == Direction::kDropped) return {};
  // The exchange below an RPC comes first: it may make room at the cost of the oldest.
  const Paired own = on_lnet(message);
  if (const Rpc* const rpc = message.rpc()) return on_rpc(message, *rpc);
  if (const SelftestMessage* const selftest = message.selftest()) {
    return on_selftest(message, *selftest);
  }
  const Paired bulk = on_bulk(message);
  return bulk.role == Role::kNone ? own : bulk;
}

Paired PairUp::on_rpc(const Message& message, const Rpc& rpc) {
  const RecordHeader& record = message.record.header;
  const std::uint64_t group = rpc_group(message.record.match_bits().value_or(0));
  if (rpc.is_request()) {
    Entry& entry = begin(message, ExchangeKind::kRpc, key(ExchangeKind::kRpc, record.source, group),
                         rpc.opcode().value_or(0));
    // A request that is sent again has new match bits for its bulk.
    const std::uint64_t bulk = rpc_group(rpc.get(&RpcBodyWire::bulk_bits).value_or(0));
    if (bulk != 0) name(entry, key(ExchangeKind::kRpc, record.source, bulk));
    return {.role = Role::kRequest, .exchange = &entry.exchange};
  }
  Entry* const entry = find(key(ExchangeKind::kRpc, record.destination, group));
  if (message.is_early_reply()) {
    if (entry == nullptr) return {.role = Role::kEarlyReply};
    ++entry->exchange.early_replies;
    return {.role = Role::kEarlyReply, .exchange = &entry->exchange};
  }
  return on_reply(message, entry);
}

Paired PairUp::on_selftest(const Message& message, const SelftestMessage& selftest) {
  const RecordHeader& record = message.record.header;
  if (!selftest.is_request()) {
    return on_reply(message, find(key(ExchangeKind::kSelftest, record.destination,
                                      message.record.match_bits().value_or(0))));
  }
  if (!selftest.reply_id) return {.role = Role::kRequest};
  Entry& entry =
      begin(message, ExchangeKind::kSelftest,
            key(ExchangeKind::kSelftest, record.source, *selftest.reply_id), selftest.type);
  if (selftest.bulk_id.value_or(0) != 0) {
    name(entry, key(ExchangeKind::kSelftest, record.source, *selftest.bulk_id));
  }
  return {.role = Role::kRequest, .exchange = &entry.exchange};
}

Paired PairUp::on_reply(const Message& message, Entry* entry) {
  if (entry == nullptr) return {.role = Role::kReply};
  Exchange& exchange = entry->exchange;
  const std::uint64_t time_ns = message.record.header.time_ns;
  exchange.reply.add(time_ns);
  if (const auto status = message.status()) exchange.status = status;
  return {.role = Role::kReply,
          .exchange = &exchange,
          .latency_ns = between(exchange.request.first_ns, time_ns)};
}

// Data that a server puts to or gets from its client.
Paired PairUp::on_bulk(const Message& message) {
  const Record& record = message.record;
  const auto portal = record.portal();
  if (!portal) return {};
  Entry* entry = nullptr;
  if (use_of(*portal) == PortalUse::kBulk) {
    entry = find(key(ExchangeKind::kRpc, record.header.destination,
                     rpc_group(record.match_bits().value_or(0))));
  } else if (*portal == portal::kSelftestRdma) {
    entry = find(
        key(ExchangeKind::kSelftest, record.header.destination, record.match_bits().value_or(0)));
  } else {
    return {};
  }
  if (entry == nullptr) return {.role = Role::kBulk};
  Exchange& exchange = entry->exchange;
  exchange.bulk.add(record.header.time_ns);
  // The bytes of a GET are in its REPLY; of two sightings on a router only the first counts.
  const bool counts = record.header.direction == entry->direction || exchange.request.count == 1;
  if (record.is(lnet::MessageType::kPut) && counts) {
    exchange.bulk_bytes += record.header.payload_length;
  }
  return {.role = Role::kBulk, .exchange = &exchange};
}

Paired PairUp::on_lnet(const Message& message) {
  const Record& record = message.record;
  const auto handle = record.handle();
  if (!handle) return {};
  const bool answers = record.is(lnet::MessageType::kReply) || record.is(lnet::MessageType::kAck);
  const lnet::Nid& client = answers ? record.header.destination : record.header.source;
  const Key own = key(ExchangeKind::kLnet, client, handle->interface_cookie, handle->object_cookie);
  if (answers) {
    Entry* const entry = find(own);
    if (entry != nullptr && entry->exchange.reply.count == 0) {
      if (Entry* const parent = numbered(entry->parent)) {
        parent->exchange.bulk_bytes += record.header.payload_length;
      }
    }
    return on_reply(message, entry);
  }
  Entry& entry = begin(message, ExchangeKind::kLnet, own, record.header.type);
  const bool is_rpc = use_of(record.portal().value_or(0)) == PortalUse::kBulk;
  const std::uint64_t bits = record.match_bits().value_or(0);
  const Key bulk = key(is_rpc ? ExchangeKind::kRpc : ExchangeKind::kSelftest,
                       record.header.destination, is_rpc ? rpc_group(bits) : bits);
  if (const Entry* const parent = find(bulk); parent != nullptr && parent != &entry) {
    entry.parent = parent->exchange.number;
  }
  return {.role = Role::kRequest, .exchange = &entry.exchange};
}

}  // namespace plnet::trace
