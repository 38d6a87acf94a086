// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/verbs_driver.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "drivers/net/sim/dice.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = SimVerbsCounters::Id;
using o2iblnd::ConnectParameters;
using o2iblnd::QueuePairSize;
using o2iblnd::ReceiveRequest;
using o2iblnd::WorkCompletion;
using o2iblnd::WorkEvent;
using o2iblnd::WorkRequest;
using State = QueuePair::State;

namespace {

// Keys and addresses for peers: numbers, not pointers, so that runs repeat.
constexpr std::uint32_t kKeyBase = 0x5100;
constexpr unsigned kArenaShift = 40;
constexpr std::uint32_t kMappedKeyBase = 0x1'0000;  // the first address of memory mapped on demand

std::uint64_t address_of(const BufferAddress& at) {
  return (at.arena + 1ULL) << kArenaShift | at.offset;
}

}  // namespace

SimVerbsDriver::SimVerbsDriver(SimVerbsFabric& fabric, HostId host, const ArenaTable& arenas,
                               o2iblnd::VerbsEvents& events, Doorbell& doorbell)
    : fabric_(fabric),
      doorbell_(doorbell),
      events_(events),
      arenas_(arenas),
      host_(host),
      maps_(arenas, *this) {}

SimVerbsDriver::~SimVerbsDriver() {
  for (const Ipv4Endpoint& local : listening_)
    fabric_.stop_listening(*this, local);
  for (const Slot& slot : slots_) {
    if (slot.pair != nullptr) fabric_.abandon(*slot.pair);
  }
  BlockPool& pool = fabric_.network().pool();
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_.at(i).data.clear(pool);
  words_.clear(pool);
  notes_.clear(pool);
}

Result<o2iblnd::RemoteKey> SimVerbsDriver::remote_key(const Fragment& fragment) {
  PLNET_CHECK(fragment.at.arena < arenas_.count(), "only memory in an arena can be laid open");
  if (!maps_.maps(fragment.at.arena))
    return o2iblnd::RemoteKey{kKeyBase + fragment.at.arena, address_of(fragment.at)};
  const auto mapped = maps_.take(fragment, MapCache::Use::kOpen);
  if (!mapped) return std::unexpected(mapped.error());
  return o2iblnd::RemoteKey{mapped->keys.remote, address_of(fragment.at), mapped->slot};
}

Result<MapKeys> SimVerbsDriver::enter(std::uint32_t slot, const MapRegion& region) {
  if (slot >= keyed_.size()) keyed_.resize(slot + std::size_t{1});
  const std::uint32_t key = kMappedKeyBase + maps_made_++;
  keyed_[slot] = {.key = key, .region = region};
  return MapKeys{.local = key, .remote = key};
}

std::span<std::byte> SimVerbsDriver::remote_memory(std::uint32_t key, std::uint64_t address,
                                                   std::size_t length) const {
  if (key >= kMappedKeyBase) {
    const auto found = std::ranges::find(keyed_, key, &KeyedRegion::key);
    if (found == keyed_.end()) return {};
    const MapRegion& region = found->region;
    const std::uint64_t begin = address_of({region.arena, region.offset});
    if (address < begin || length > region.bytes || address - begin > region.bytes - length)
      return {};
    return {arenas_.arena(region.arena).base + region.offset + (address - begin), length};
  }
  const std::uint64_t arena = key - kKeyBase;
  if (key < kKeyBase || arena >= arenas_.count()) return {};
  const Arena& home = arenas_.arena(static_cast<ArenaId>(arena));
  const std::uint64_t first = (arena + 1) << kArenaShift;
  if (address < first || address - first > home.size || length > home.size - (address - first))
    return {};
  return {home.base + (address - first), length};
}

bool SimVerbsDriver::post_chain(QueuePairId id, std::span<const WorkRequest> chain) {
  PLNET_CHECK(!chain.empty(), "a chain has a request");
  QueuePair* pair = find(id);
  const bool open = pair != nullptr && pair->state == State::kEstablished;
  const bool room = open && pair->sends.size() + chain.size() <= pair->size.send_requests;
  // A refusal without need is allowed only while a completion is due that makes the LND retry.
  if (!room || (!pair->sends.empty() && happens(fabric_.random(), fabric_.shape().post_refused))) {
    counters_.add(Id::kChainsRefused);
    return false;
  }
  for (const WorkRequest& request : chain) {
    PLNET_CHECK(request.piece_count <= o2iblnd::kGatherMax,
                "a request has no more pieces than a device gathers");
    pair->sends.push(fabric_.network().pool(), {request, &request == &chain.back()});
  }
  counters_.add(Id::kChains);
  fabric_.pump(*pair);
  return true;
}

std::size_t SimVerbsDriver::post_receives(QueuePairId id, std::span<const ReceiveRequest> burst) {
  QueuePair* pair = find(id);
  if (pair == nullptr || pair->drained || pair->size.receive_requests == 0) {
    counters_.add(Id::kStaleCalls);
    return 0;
  }
  if (pair->state == State::kError) {  // as a device does: posted, and flushed at once
    for (const ReceiveRequest& request : burst) {
      counters_.add(Id::kFlushed);
      note_completion({.queue_pair = id,
                       .event = WorkEvent::kReceived,
                       .status = std::unexpected(Errc::kAborted),
                       .cookie = request.cookie});
    }
    return burst.size();
  }
  PLNET_CHECK(pair->receives.size() <= pair->size.receive_requests,
              "a queue pair has no more receives than it was made for");
  const std::size_t room = pair->size.receive_requests - pair->receives.size();
  const std::size_t count = std::min(room, burst.size());
  for (const ReceiveRequest& request : burst.first(count)) {
    (void)arenas_.bytes(request.buffer);  // checks that it lies in its arena
    pair->receives.push(fabric_.network().pool(), request);
  }
  return count;
}

Result<SimVerbsDriver::QueuePairId> SimVerbsDriver::connect(const Ipv4Endpoint& local,
                                                            const Ipv4Endpoint& remote,
                                                            const QueuePairSize& size,
                                                            const ConnectParameters& parameters,
                                                            std::span<const std::byte> data) {
  if (data.size() > o2iblnd::kConnectDataBytesMax) return std::unexpected(Errc::kTooBig);
  if (!usable_) return std::unexpected(Errc::kNetworkDown);
  if (fabric_.network().host_of(mapped_ipv4(local.address)) != host_)
    return std::unexpected(Errc::kNotFound);
  if (size.send_requests > limits_.work_requests_max ||
      size.receive_requests > limits_.work_requests_max ||
      slots_.size() - free_.size() >= kQueuePairsMax)
    return std::unexpected(Errc::kNoMemory);
  QueuePair& pair = fabric_.create(*this, host_);
  pair.local = local;
  pair.remote = remote;
  pair.size = size;
  pair.parameters = parameters;
  pair.data.assign(fabric_.network().pool(), data, o2iblnd::kConnectDataBytesMax);
  pair.prepared = true;
  counters_.add(Id::kConnects);
  fabric_.connect(pair);
  return pair.id;
}

Result<void> SimVerbsDriver::listen(const Ipv4Endpoint& local) {
  const auto done = fabric_.listen(*this, local);
  if (done) listening_.push_back(local);
  return done;
}

void SimVerbsDriver::stop_listening(const Ipv4Endpoint& local) {
  fabric_.stop_listening(*this, local);
  std::erase(listening_, local);
}

Result<void> SimVerbsDriver::prepare(QueuePairId request, const QueuePairSize& size) {
  QueuePair* pair = find(request);
  if (pair == nullptr || pair->state != State::kRequested) return std::unexpected(Errc::kNotFound);
  if (size.send_requests > limits_.work_requests_max ||
      size.receive_requests > limits_.work_requests_max)
    return std::unexpected(Errc::kNoMemory);
  pair->size = size;
  pair->prepared = true;
  return {};
}

Result<void> SimVerbsDriver::accept(QueuePairId request, const ConnectParameters& parameters,
                                    std::span<const std::byte> data) {
  if (data.size() > o2iblnd::kAcceptDataBytesMax) return std::unexpected(Errc::kTooBig);
  QueuePair* pair = find(request);
  if (pair == nullptr || pair->state != State::kRequested) return std::unexpected(Errc::kNotFound);
  if (!pair->prepared) return std::unexpected(Errc::kInvalid);
  pair->parameters = parameters;
  pair->data.assign(fabric_.network().pool(), data, o2iblnd::kAcceptDataBytesMax);
  fabric_.accept(*pair);
  return {};
}

void SimVerbsDriver::reject(QueuePairId request, std::span<const std::byte> data) {
  QueuePair* pair = find(request);
  if (pair == nullptr || pair->state != State::kRequested) {
    counters_.add(Id::kStaleCalls);
    return;
  }
  PLNET_CHECK(data.size() <= o2iblnd::kRejectDataBytesMax, "too much data for a rejection");
  pair->data.assign(fabric_.network().pool(), data, o2iblnd::kRejectDataBytesMax);
  const bool prepared = pair->prepared;
  fabric_.reject(*pair);
  if (prepared) return;  // its receives are flushed, then on_drained() follows
  slots_[request.index].pair = nullptr;
  free_.push_back(request.index);
  fabric_.destroy(*pair);
}

QueuePair* SimVerbsDriver::take_out(QueuePairId request) {
  QueuePair* const pair = find(request);
  if (pair == nullptr || pair->state != State::kRequested || pair->prepared) {
    counters_.add(Id::kStaleCalls);
    return nullptr;
  }
  slots_[request.index].pair = nullptr;
  free_.push_back(request.index);
  return pair;
}

void SimVerbsDriver::hand_over(QueuePairId request, SimVerbsDriver& to,
                               std::span<const std::byte> data) {
  PLNET_CHECK(to.host_ == host_, "a request stays on its host");
  QueuePair* const pair = take_out(request);
  if (pair == nullptr) return;
  pair->driver = &to;
  pair->id = to.add(*pair);
  to.push({.id = pair->id, .kind = Note::Kind::kRequest},
          {.from = pair->remote, .to = pair->local, .data = copy_of(data)});
}

std::optional<o2iblnd::HandedRequest> SimVerbsDriver::give_away(QueuePairId request) {
  QueuePair* const pair = take_out(request);
  if (pair == nullptr) return std::nullopt;
  return fabric_.give_away(*pair);
}

Result<SimVerbsDriver::QueuePairId> SimVerbsDriver::take_over(
    const o2iblnd::HandedRequest& request) {
  QueuePair* const pair = fabric_.take_over(request);
  if (pair == nullptr) return std::unexpected(Errc::kClosed);
  pair->driver = this;
  pair->id = add(*pair);
  return pair->id;
}

void SimVerbsDriver::turn_down(const o2iblnd::HandedRequest& request) {
  if (QueuePair* const pair = fabric_.take_over(request)) fabric_.abandon(*pair);
}

void SimVerbsDriver::to_error(QueuePairId id) {
  QueuePair* pair = find(id);
  if (pair == nullptr) {
    counters_.add(Id::kStaleCalls);
    return;
  }
  fabric_.fail(*pair, Errc::kAborted);
}

void SimVerbsDriver::set_device(bool usable, Errc cause) {
  usable_ = usable;
  push({.cause = cause, .kind = Note::Kind::kDevice, .usable = usable});
  if (usable) return;
  for (const Slot& slot : slots_) {
    if (slot.pair != nullptr) fabric_.fail(*slot.pair, cause);
  }
}

std::optional<SimVerbsDriver::Ipv4Endpoint> SimVerbsDriver::remote_of(
    QueuePairId queue_pair) const {
  const QueuePair* const pair = find(queue_pair);
  return pair == nullptr ? std::nullopt : std::optional(pair->remote);
}

QueuePair* SimVerbsDriver::find(QueuePairId id) const {
  if (id.index >= slots_.size() || slots_[id.index].generation != id.generation) return nullptr;
  return slots_[id.index].pair;
}

SimVerbsDriver::QueuePairId SimVerbsDriver::add(QueuePair& pair) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  PLNET_CHECK(slots_[index].pair == nullptr, "a free slot has no queue pair");
  slots_[index].pair = &pair;
  return {index, ++slots_[index].generation};
}

void SimVerbsDriver::push(const Note& note) {
  notes_.push(fabric_.network().pool(), note);
  doorbell_.ring();
}

void SimVerbsDriver::push(const Note& note, const Words& words) {
  words_.push(fabric_.network().pool(), words);
  push(note);
}

PooledBytes SimVerbsDriver::copy_of(std::span<const std::byte> data) {
  PooledBytes copy;
  copy.assign(fabric_.network().pool(), data);
  return copy;
}

SimVerbsDriver::Words SimVerbsDriver::take_words() {
  const Words words = words_.front();
  words_.pop(fabric_.network().pool());
  return words;
}

void SimVerbsDriver::note_completion(const WorkCompletion& completion) {
  push({.id = completion.queue_pair,
        .cookie = completion.cookie,
        .length = completion.length,
        .event = completion.event,
        .failed = !completion.status,
        .cause = completion.status ? Errc::kClosed : completion.status.error()});
}

void SimVerbsDriver::note_request(QueuePair& pair) {
  counters_.add(Id::kRequests);
  push({.id = pair.id, .kind = Note::Kind::kRequest},
       {.from = pair.remote, .to = pair.local, .data = pair.data.take()});
}

void SimVerbsDriver::note_established(const QueuePair& pair, std::span<const std::byte> data) {
  counters_.add(Id::kEstablished);
  push({.id = pair.id, .kind = Note::Kind::kEstablished}, {.data = copy_of(data)});
}

void SimVerbsDriver::note_rejected(const QueuePair& pair, o2iblnd::RejectKind kind,
                                   std::span<const std::byte> data) {
  push({.id = pair.id, .kind = Note::Kind::kRejected, .reject = kind}, {.data = copy_of(data)});
}

void SimVerbsDriver::note_disconnected(const QueuePair& pair, Errc cause) {
  push({.id = pair.id, .cause = cause, .kind = Note::Kind::kDisconnected});
}

void SimVerbsDriver::note_drained(const QueuePair& pair, bool told) {
  push({.id = pair.id, .kind = Note::Kind::kDrained, .told = told});
}

void SimVerbsDriver::note_drained_early(const QueuePair& pair) {
  push({.id = pair.id, .kind = Note::Kind::kDrainedEarly});
}

unsigned SimVerbsDriver::poll(Instant /*now*/) {
  unsigned work = 0;
  while (work < kBurst && !notes_.empty()) {
    if (notes_.front().kind == Note::Kind::kCompletion) {
      work += tell_completions();
      continue;
    }
    const Note note = notes_.front();
    notes_.pop(fabric_.network().pool());
    tell(note);
    ++work;
  }
  return work;
}

unsigned SimVerbsDriver::tell_completions() {
  std::array<WorkCompletion, kBurst> burst;
  std::size_t count = 0;
  while (count < kBurst && !notes_.empty() && notes_.front().kind == Note::Kind::kCompletion) {
    const Note& note = notes_.front();
    WorkCompletion& completion = burst[count++];
    completion = {
        .queue_pair = note.id, .event = note.event, .length = note.length, .cookie = note.cookie};
    if (note.failed) completion.status = std::unexpected(note.cause);
    notes_.pop(fabric_.network().pool());
  }
  events_.on_completions({burst.data(), count});
  return static_cast<unsigned>(count);
}

void SimVerbsDriver::tell(const Note& note) {
  switch (note.kind) {
    case Note::Kind::kRequest:
    case Note::Kind::kEstablished:
    case Note::Kind::kRejected: {
      Words words = take_words();
      if (note.kind == Note::Kind::kRequest) {
        events_.on_connect_request(note.id, words.from, words.to, words.data.view());
      } else if (note.kind == Note::Kind::kEstablished) {
        events_.on_established(note.id, words.data.view());
      } else {
        events_.on_rejected(note.id, note.reject, words.data.view());
      }
      words.data.clear(fabric_.network().pool());
      break;
    }
    case Note::Kind::kDisconnected: events_.on_disconnected(note.id, note.cause); break;
    case Note::Kind::kDevice: events_.on_device(note.usable, note.cause); break;
    case Note::Kind::kDrained: {
      Slot& slot = slots_[note.id.index];
      PLNET_CHECK(slot.pair != nullptr && slot.generation == note.id.generation,
                  "a queue pair drains once");
      fabric_.destroy(*slot.pair);
      slot.pair = nullptr;
      free_.push_back(note.id.index);
      if (!note.told) events_.on_drained(note.id);
      break;
    }
    case Note::Kind::kDrainedEarly: events_.on_drained(note.id); break;
    case Note::Kind::kCompletion: break;  // tell_completions()
  }
}

}  // namespace plnet::drivers
