// SPDX-License-Identifier: BSD-3-Clause
// Operations and their descriptors; program_events.cpp checks their events.
#include "apps/lnet-sim/host/program.hpp"

#include <algorithm>

#include "apps/lnet-sim/host/host.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kRetry = std::chrono::milliseconds(1);
constexpr Duration kLazyDelayMax = std::chrono::milliseconds(3);
constexpr Duration kUnlinkDelayMax = std::chrono::microseconds(60);
constexpr std::int32_t kWildcardUses = 5;
// Descriptors of a shard for pings and discovery; the usual maximum.
constexpr std::size_t kOtherDescriptors = 64;

std::uint64_t content_of(std::uint32_t node, unsigned shard) {
  return 0xc0de'0000'0000ULL + node * 64ULL + shard;
}

PortalId portal_of(Story story) {
  switch (story) {
    case Story::kPutWildcard: return Program::kWildcardPortal;
    case Story::kPutUnique: return Program::kUniquePortal;
    case Story::kPutLazy: return Program::kLazyPortal;
    case Story::kPutManaged: return Program::kManagedPortal;
    case Story::kPutAfter:
    case Story::kGetAfter: return Program::kAfterPortal;
    case Story::kGet: break;
  }
  return Program::kGetPortal;
}

Duration drawn(Random& random, Duration most) {
  return Duration{
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

}  // namespace

Program::Program(Host& host, ShardId shard, unsigned operations, std::size_t records)
    : host_(host),
      ledger_(host.world().ledger),
      plan_(host.world().config.traffic),
      lnet_(host.node().shard(shard)),
      shard_(shard),
      content_(content_of(host.number(), shard)),
      random_(Random(host.world().config.seed * 1'000'003 + host.number() * 64ULL + shard)
                  .fork("program")),
      records_(records),
      left_(operations) {
  due_.reserve(64);
  bound_.resize(records + kOtherDescriptors);
}

Program::~Program() = default;

void Program::start(Instant now) {
  now_ = now;
  for (unsigned i = 0; i < kWildcardEntries; ++i)
    (void)attach_wildcard();
  if (plan_.get > 0) attach_source();
  if (shard_ == 0) attach_for_late_ones(now);
  if (left_ > 0) {
    begin_scheduled_ = true;
    later(now + drawn(random_, plan_.pause), Deed::kBegin, 0);
  }
}

// A PUT that began while this node was off may still wait in a router, even if it has ended for its
// initiator. Without a match entry on the lazy portal it would block its connection for ever.
void Program::attach_for_late_ones(Instant now) {
  const auto attach_for_lazy = [&](const Operation& operation) {
    if (operation.story == Story::kPutLazy && operation.target == host_.number() &&
        !operation.delivered)
      later(now, Deed::kAttach, ledger_.id_of(operation));
  };
  ledger_.for_each_undelivered(attach_for_lazy);
  ledger_.for_each_open(attach_for_lazy);
}

// --- Timed work ---

void Program::later(Instant at, Deed deed, std::uint64_t id) {
  due_.push_back({at, deed, id});
  std::push_heap(due_.begin(), due_.end());
}

unsigned Program::poll(Instant now) {
  now_ = now;
  unsigned work = 0;
  while (!due_.empty() && due_.front().at <= now) {
    std::pop_heap(due_.begin(), due_.end());
    const Due due = due_.back();
    due_.pop_back();
    carry_out(due, now);
    ++work;
  }
  return work;
}

void Program::carry_out(const Due& due, Instant now) {
  switch (due.deed) {
    case Deed::kBegin: begin_scheduled_ = false; return begin_some(now);
    case Deed::kAttach: {
      Operation* const operation = ledger_.find(due.id);
      if (unlinking_ || operation == nullptr || operation->delivered) return;
      if (!attach_single(due.id, kLazyPortal, Nid::any(), operation->length, false)) {
        later(now + kRetry, Deed::kAttach, due.id);
      }
      return;
    }
    case Deed::kUnlinkEntry:
      if (Record* const record = record_of_entry(due.id)) (void)lnet_.unlink(record->me);
      return;
    case Deed::kAbandon:
      for (std::uint32_t i = 0; i < records_.capacity(); ++i) {
        const Record& record = records_.at(i);
        if (!records_.is_lent(i) || !record.live || record.id != due.id ||
            record.kind != Record::Kind::kInitiator) {
          continue;
        }
        if (Operation* const operation = ledger_.find(due.id)) operation->abandoned = true;
        (void)lnet_.unlink(record.md);
        return;
      }
      return;
    case Deed::kExpire: return expire_some(now);
    case Deed::kSendAgain: return send_some_again(now);
  }
}

void Program::attach_later(std::uint64_t id, Instant at) {
  later(at, Deed::kAttach, id);
  host_.ring(shard_);
}

void Program::unlink_later(std::uint64_t id, Instant at) {
  later(at, Deed::kUnlinkEntry, id);
  host_.ring(shard_);
}

Program::Record* Program::record_of_entry(std::uint64_t id) {
  for (std::uint32_t i = 0; i < records_.capacity(); ++i) {
    Record& record = records_.at(i);
    if (records_.is_lent(i) && record.live && record.id == id &&
        (record.kind == Record::Kind::kSingle || record.kind == Record::Kind::kManaged)) {
      return &record;
    }
  }
  return nullptr;
}

// --- Descriptors ---

Program::Record* Program::take_record(Record::Kind kind, std::uint32_t length) {
  Record* const record = records_.take();
  if (record == nullptr) return nullptr;
  const std::uint32_t slot = host_.slots().take();
  if (slot == MemorySlots::kNone) {
    records_.give(record);
    return nullptr;
  }
  if (!host_.slots().clean())
    ledger_.violate("memory was written to after its descriptor was unlinked");
  *record = Record{};
  record->kind = kind;
  record->live = true;
  record->slot = slot;
  record->length = length;
  return record;
}

void Program::give_back(Record& record) {
  record.live = false;
  const bool poison = plan_.poison_percent >= 100 || random_.below(100) < plan_.poison_percent;
  host_.slots().give(record.slot, poison && record.kind != Record::Kind::kSource);
  records_.give(&record);
}

// `md` without memory and user. False: the record has been released.
bool Program::attach(Record& record, const MeSpec& me, MdSpec md) {
  md.fragments = host_.slots().fragments(record.slot, record.length, plan_.scattered);
  md.length = record.length;
  md.user = &record;
  md.handler = this;
  const auto attached = lnet_.attach(me, md);
  if (!attached) {
    give_back(record);
    return false;
  }
  record.md = attached->md;
  record.me = attached->me;
  return true;
}

bool Program::attach_wildcard() {
  Record* const record = take_record(Record::Kind::kWildcard, host_.slots().bytes());
  return record != nullptr && attach(*record, {.portal = kWildcardPortal, .ignore_bits = ~0ULL},
                                     {.threshold = kWildcardUses,
                                      .max_size = plan_.size_max,
                                      .options = kMdPut | kMdMaxSize});
}

bool Program::attach_single(std::uint64_t id, PortalId portal, const Nid& from,
                            std::uint32_t length, bool truncate) {
  Record* const record = take_record(Record::Kind::kSingle, length);
  if (record == nullptr) return false;
  record->id = id;
  if (!attach(*record,
              {.portal = portal,
               .match = {from, from.is_any() ? kPidAny : kLustrePid},
               .match_bits = id},
              {.threshold = 1, .options = kMdPut | (truncate ? kMdTruncate : 0U)})) {
    return false;
  }
  host_.ring(shard_);  // a lazy portal may have a message for it
  return true;
}

bool Program::attach_for(Operation& operation, const Nid& from, std::uint32_t room, bool truncate) {
  operation.entry_shard = shard_;
  operation.room = room;
  return attach_single(ledger_.id_of(operation), kUniquePortal, from, room, truncate);
}

void Program::attach_source() {
  Record* const record = take_record(Record::Kind::kSource, host_.slots().bytes());
  if (record == nullptr) return;
  host_.slots().fill(record->slot, record->length, {content_, 0, 0});
  PLNET_CHECK(attach(*record, {.portal = kGetPortal, .match_bits = content_},
                     {.options = kMdGet | kMdManageRemote | kMdTruncate}),
              "there is room at the start");
}

void Program::unlink_all() {
  unlinking_ = true;
  left_ = 0;
  due_.clear();
  again_.clear();
  for (std::uint32_t i = 0; i < records_.capacity(); ++i) {
    if (!records_.is_lent(i) || !records_.at(i).live) continue;
    const Record record = records_.at(i);  // may be released when the call returns
    if (record.kind == Record::Kind::kInitiator) {
      (void)lnet_.unlink(record.md);
    } else {
      (void)lnet_.unlink(record.me);
    }
  }
  host_.ring(shard_);
}

// --- Operations ---

Story Program::draw_story() {
  const std::uint64_t all =
      plan_.put_wildcard + plan_.put_unique + plan_.put_lazy + plan_.put_managed + plan_.get;
  std::uint64_t drawn_weight = random_.below(std::max<std::uint64_t>(all, 1));
  for (const auto& [story, weight] : {std::pair{Story::kPutWildcard, plan_.put_wildcard},
                                      {Story::kPutUnique, plan_.put_unique},
                                      {Story::kPutLazy, plan_.put_lazy},
                                      {Story::kPutManaged, plan_.put_managed}}) {
    if (drawn_weight < weight) return story;
    drawn_weight -= weight;
  }
  return Story::kGet;
}

void Program::begin_some(Instant now) {
  const World& world = host_.world();
  if (world.stopping || unlinking_) return;
  for (unsigned i = 0; i < plan_.burst && left_ > 0 && under_way_ < plan_.window; ++i) {
    if (!begin_one(now)) {
      begin_scheduled_ = true;
      return later(now + kRetry, Deed::kBegin, 0);
    }
    --left_;
  }
  if (left_ > 0 && under_way_ < plan_.window && !begin_scheduled_) {
    begin_scheduled_ = true;
    later(now + drawn(random_, plan_.pause), Deed::kBegin, 0);
  }
}

bool Program::begin_one(Instant now) {
  World& world = host_.world();
  // LNet copies loopback messages itself, so lazy memory cannot be used for them.
  const bool loopback = random_.below(100) < plan_.loopback_percent && !world.config.is_lazy();
  const std::uint32_t number =
      loopback ? host_.number() : world.layout.partner(host_.number(), random_);
  const Nid& nid = world.hosts[number]->nid_for(host_, random_);
  Operation* const operation = new_operation(now);
  if (operation == nullptr) return false;
  Request request{.target = number, .begun = operation->begun, .sent = operation->begun};
  request.story = draw_story();
  request.length = static_cast<std::uint32_t>(random_.between(plan_.size_min, plan_.size_max));
  const bool begun = begin(*operation, request, nid, now);
  if (!begun) {
    if (!refused_ || !repeats(request.story)) return false;
    wait_to_send_again(request);
  }
  ++under_way_;
  if (begun && random_.below(100) < plan_.abandon_percent) {
    later(now + drawn(random_, kUnlinkDelayMax), Deed::kAbandon, ledger_.id_of(*operation));
  }
  return true;
}

// False: LNet refused it, or there is no room. The operation is cancelled.
bool Program::begin(Operation& operation, const Request& request, const Nid& nid, Instant now) {
  operation.story = request.story;
  operation.initiator = host_.number();
  operation.target = request.target;
  operation.shard = shard_;
  operation.length = request.length;
  operation.room = request.length;
  operation.rpc_begun = request.begun;
  operation.attempt = request.attempt;
  refused_ = false;
  const bool begun =
      operation.story == Story::kGet ? begin_get(operation, nid) : begin_put(operation, nid, now);
  if (!begun) {
    ledger_.cancel_begin(operation);
  } else if (repeats(operation.story)) {
    bound_rpc(operation);
  }
  return begun;
}

Operation* Program::new_operation(Instant now) {
  const SiteConfig& config = host_.world().config;
  const auto bound =
      std::chrono::seconds(2 * config.transaction_timeout_s + 4 * config.lnd_timeout_s);
  Operation* const operation = ledger_.begin(now + bound);
  if (operation != nullptr) operation->begun = host_.world().loop.now();
  return operation;
}

// The memory that an operation sends from or receives into. Null: no room.
Program::Record* Program::bind_for(const Operation& operation, std::int32_t threshold) {
  Record* const record = take_record(Record::Kind::kInitiator, operation.length);
  if (record == nullptr) return nullptr;
  record->id = ledger_.id_of(operation);
  const auto md = lnet_.bind(
      {.fragments = host_.slots().fragments(record->slot, operation.length, plan_.scattered),
       .length = operation.length,
       .threshold = threshold,
       .user = record,
       .handler = this});
  if (!md) {
    give_back(*record);
    return nullptr;
  }
  record->md = *md;
  if (md->index >= bound_.size()) bound_.resize(md->index + 1);
  bound_[md->index] = {*md, record->id};
  return record;
}

std::uint64_t Program::operation_of(const MdHandle& md) const {
  const bool known = md.index < bound_.size() && bound_[md.index].md == md;
  return known ? bound_[md.index].id : 0;
}

bool Program::began(Record& record, const Result<void>& result) {
  if (result) return true;
  World& world = host_.world();
  if (world.rpcs != nullptr) world.rpcs->refused(host_.number(), world.loop.now(), result.error());
  refused_ = true;
  record.refused = true;
  (void)lnet_.unlink(record.md);
  return false;
}

// Attaches the match entry of the PUT at the target, unless it is supposed to be missing.
void Program::prepare_target(Operation& operation, PutSpec& put, Instant now) {
  Host& there = *host_.world().hosts[operation.target];
  if (operation.story == Story::kPutWildcard || there.state() == Host::State::kOff) return;
  const bool up = there.state() == Host::State::kUp;
  Program& program = there.program(static_cast<unsigned>(random_.below(there.shards())));
  bool attached = false;
  if (operation.story == Story::kPutUnique) {
    const bool truncate = random_.below(100) < plan_.truncate_percent;
    const std::uint32_t room = truncate ? operation.length / 2 : operation.length;
    const Nid& from = host_.nids()[random_.below(host_.nids().size())];
    attached = up && program.attach_for(operation, from, room, truncate);
  } else if (operation.story == Story::kPutManaged) {
    attached = up && program.attach_stripe(operation);
    put.match_bits = operation.entry;
    put.offset = operation.offset;
  } else if (up) {
    program.attach_later(put.match_bits, now + drawn(random_, kLazyDelayMax));
  }
  if (attached && random_.below(100) < plan_.unlink_percent) {
    program.unlink_later(operation.entry, now + drawn(random_, kUnlinkDelayMax));
  }
}

bool Program::begin_put(Operation& operation, const Nid& target, Instant now) {
  const std::uint64_t id = ledger_.id_of(operation);
  operation.ack_wanted = random_.below(100) < plan_.ack_percent;
  operation.content = operation.entry = id;
  PutSpec put{.target = {target, kLustrePid},
              .portal = portal_of(operation.story),
              .match_bits = id,
              .header_data = id,
              .ack = operation.ack_wanted};
  if (operation.story == Story::kPutManaged) {
    operation.length = operation.room =
        std::min(operation.length, host_.slots().bytes() / kStripes);
  }
  Record* const record = bind_for(operation, operation.ack_wanted ? 2 : 1);
  if (record == nullptr) return false;
  host_.slots().fill(record->slot, operation.length, {id, 0, 0});
  prepare_target(operation, put, now);
  return began(*record, lnet_.put(record->md, put));
}

bool Program::begin_get(Operation& operation, const Nid& target) {
  const Host& there = *host_.world().hosts[operation.target];
  operation.ack_wanted = true;
  const auto shard = static_cast<unsigned>(random_.below(there.shards()));
  operation.content = content_of(operation.target, shard);
  operation.entry_shard = static_cast<ShardId>(shard);
  operation.offset = static_cast<std::uint32_t>(random_.below(host_.slots().bytes()));
  operation.room = host_.slots().bytes() - operation.offset;
  Record* const record = bind_for(operation, 2);
  if (record == nullptr) return false;
  return began(*record, lnet_.get(record->md, {.target = {target, kLustrePid},
                                               .portal = kGetPortal,
                                               .match_bits = operation.content,
                                               .offset = operation.offset}));
}

}  // namespace plnet::sim
