// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/device.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::mlx {

using o2iblnd::ReceiveRequest;
using o2iblnd::RemoteKey;
using o2iblnd::WorkRequest;
using State = Connection::State;

namespace {

constexpr unsigned kCompletionsAtStart = 4096;  // grows with the queue pairs

}  // namespace

Outcome<std::unique_ptr<Device>> Device::open(Adapter& adapter, const DeviceConfig& config,
                                              o2iblnd::VerbsEvents& events) {
  if (!adapter.enter())
    return failure(Errc::kNetworkDown, "RDMA device " + adapter.name() + " was removed");
  std::unique_ptr<Device> made(new Device(adapter, config, events));
  made->inbox_ = adapter.desk().enter();
  if (made->inbox_ == 0) return failure(Errc::kNoSpace, "too many shards and NIs on RDMA devices");
  made->completion_entries_ = std::min(kCompletionsAtStart, adapter.completions_max());
  made->completions_ = ibv_create_cq(adapter.context(), static_cast<int>(made->completion_entries_),
                                     nullptr, nullptr, 0);
  if (made->completions_ == nullptr) return verbs_failure("ibv_create_cq", errno);
  return made;
}

Device::Device(Adapter& adapter, const DeviceConfig& config, o2iblnd::VerbsEvents& events)
    : adapter_(adapter),
      entered_(&adapter),
      config_(config),
      events_(events),
      registrations_(*adapter.domain(), adapter.arenas()),
      maps_(adapter.arenas(), registrations_),
      connections_(config.connections_max),
      tx_(adapter, maps_, stats_),
      rx_(adapter, stats_) {
  ended_.reserve(config.connections_max);
  failed_.reserve(config.connections_max);
}

Device::~Device() {
  connections_.for_each([this](Connection& connection) {
    if (connection.linked()) connection.unlink();
    release(connection);
  });
  close();
  adapter_.desk().leave(inbox_);
}

void Device::close() {
  PLNET_CHECK(connections_.all_free(), "queue pairs end before their completion queue");
  for (const Listener& listener : listeners_)
    (void)rdma_destroy_id(listener.id);
  listeners_.clear();
  if (completions_ != nullptr) (void)ibv_destroy_cq(completions_);
  completions_ = nullptr;
}

// Called when all queue pairs have drained and nothing is mapped any more.
void Device::let_removed_go() {
  if (!connections_.all_free()) return;
  MapRules rules = maps_.rules();
  rules.keeps = false;
  maps_.set_rules(rules);
  if (maps_.count(MapCounters::Id::kMapped) > 0) return;
  close();
  entered_.reset();
}

bool Device::post_chain(QueuePairId queue_pair, std::span<const WorkRequest> chain) {
  Connection* const connection = find_or_count(queue_pair);
  if (connection == nullptr || connection->state != State::kEstablished) return false;
  const bool posted = tx_.post(*connection, chain);
  if (connection->broken.load(std::memory_order_relaxed)) to_error(queue_pair);
  return posted;
}

std::size_t Device::post_receives(QueuePairId queue_pair, std::span<const ReceiveRequest> burst) {
  Connection* const connection = find_or_count(queue_pair);
  if (connection == nullptr || connection->pair == nullptr) return 0;
  return rx_.post(*connection, burst);
}

Result<RemoteKey> Device::remote_key(const Fragment& fragment) {
  if (completions_ == nullptr) return std::unexpected(Errc::kNetworkDown);
  const auto address = reinterpret_cast<std::uint64_t>(adapter_.arenas().bytes(fragment).data());
  if (!maps_.maps(fragment.at.arena))
    return RemoteKey{.key = adapter_.keys(fragment).remote, .address = address};
  const auto mapped = maps_.take(fragment, MapCache::Use::kOpen);
  if (!mapped) return std::unexpected(mapped.error());
  return RemoteKey{.key = mapped->keys.remote, .address = address, .mapping = mapped->slot};
}

// Ends that an upcall adds are reported in the next poll.
unsigned Device::tell_ended() {
  const std::size_t count = ended_.size();
  for (std::size_t i = 0; i < count; ++i)
    events_.on_disconnected(ended_[i].name, ended_[i].cause);
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<unsigned>(count);
}

unsigned Device::poll(Instant now) {
  now_ = now;
  unsigned work = tell_ended();
  if (completions_ == nullptr) return work + read_events();
  work += poll_completions();
  if (!draining_.empty()) work += finish_drained(now);
  work += read_events();
  if (now < look_at_) return work;
  look_at_ = now + kLookInterval;
  look_at_adapter();
  if (adapter_.is_gone()) let_removed_go();
  return work;
}

}  // namespace plnet::mlx
