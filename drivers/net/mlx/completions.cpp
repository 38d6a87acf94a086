// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <utility>

#include "drivers/net/mlx/device.hpp"
#include "drivers/net/mlx/status.hpp"
#include "lib/base/check.hpp"

namespace plnet::mlx {

using o2iblnd::WorkCompletion;
using o2iblnd::WorkEvent;
using Id = MlxTable::Id;
using State = Connection::State;

unsigned Device::poll_completions() {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the call fills it
  std::array<ibv_wc, kBurst> burst;
  const int count = ibv_poll_cq(completions_, static_cast<int>(burst.size()), burst.data());
  stats_.add(Id::kPolls);
  if (count <= 0) {
    stats_.add(Id::kEmptyPolls);
    return 0;
  }
  for (const ibv_wc& completion : std::span(burst).first(static_cast<std::size_t>(count)))
    on_completion(completion);
  tell_reported();
  end_failed();
  return static_cast<unsigned>(count);
}

// A failed request puts its queue pair into error, which the connection manager does not notice.
void Device::fail(Connection& connection) {
  if (connection.state == State::kDraining || connection.failed) return;
  PLNET_DEBUG_CHECK(connection.state != State::kFree, "only a connection in use fails");
  connection.failed = true;
  failed_.push_back(connection.name);
}

void Device::end_failed() {
  while (!failed_.empty()) {
    Connection* const connection = connections_.find(failed_.back());
    failed_.pop_back();
    if (connection != nullptr) end_from_here(*connection, Errc::kIo);
  }
}

void Device::on_completion(const ibv_wc& completion) {
  const WorkName work = WorkName::unpacked(completion.wr_id);
  Connection* const connection = connections_.find(work.connection, work.generation);
  if (connection == nullptr) return stats_.add(Id::kStaleCompletions);
  const Result<void> status = status_of(completion.status);
  if (!status && holds(*connection)) return;
  if (!status) fail(*connection);
  if (work.kind == WorkName::Kind::kChain) return complete_chains(*connection, work.number, status);
  if (work.kind == WorkName::Kind::kPart) return fail_part(*connection, work.number, status);
  if (!connection->receives.has(work.number)) return stats_.add(Id::kStaleCompletions);
  report({.queue_pair = connection->name,
          .event = WorkEvent::kReceived,
          .status = status,
          .length = status ? completion.byte_len : 0,
          .cookie = connection->receives.front()});
  connection->receives.pop();
  ++connection->receive_room;
}

// librdmacm puts a queue pair into error while it reads the event that ends its set-up. Flushes
// may arrive before that event, and only the event has the reason: flushed receives are reported
// when the queue pair has drained.
bool Device::holds(Connection& connection) {
  if (connection.state != State::kConnecting && connection.state != State::kAccepting) return false;
  ++connection.held;
  return true;
}

// Parts complete only with an error. Their chain ends with its last request, which is flushed.
void Device::fail_part(const Connection& connection, std::uint32_t number, Result<void> status) {
  if (!connection.chains.has(number)) return stats_.add(Id::kStaleCompletions);
  if (status || status.error() == Errc::kAborted) return;
  report({.queue_pair = connection.name,
          .event = WorkEvent::kSent,
          .status = status,
          .cookie = connection.chains.at(number).part_cookie});
}

// Everything up to this number has completed.
void Device::complete_chains(Connection& connection, std::uint32_t number, Result<void> status) {
  if (number == connection.chains.next() && connection.state == State::kDraining) {
    connection.marker_is_back = true;
    return;
  }
  if (!connection.chains.has(number)) return stats_.add(Id::kStaleCompletions);
  while (connection.chains.has(number)) {
    const bool is_it = connection.chains.first() == number;
    const PostedChain chain = pop_chain(connection);
    connection.send_room += chain.requests;
    PLNET_CHECK(connection.send_room <= kSendRequestsMax, "a chain gives back what it took");
    report({.queue_pair = connection.name,
            .event = WorkEvent::kSent,
            .status = is_it ? status : Result<void>{},
            .cookie = chain.cookie});
  }
}

PostedChain Device::pop_chain(Connection& connection) {
  const PostedChain chain = connection.chains.front();
  connection.chains.pop();
  for (std::uint32_t i = 0; i < chain.mapped; ++i, connection.mapped.pop())
    maps_.give(connection.mapped.front(), MapCache::Use::kOwn);
  return chain;
}

void Device::report(const WorkCompletion& completion) {
  if (completion.status) {
    stats_.add(completion.event == WorkEvent::kSent ? Id::kSent : Id::kReceived);
  } else {
    stats_.add(completion.status.error() == Errc::kAborted ? Id::kFlushed : Id::kErrors);
  }
  if (reported_count_ == reported_.size()) tell_reported();
  PLNET_CHECK(reported_count_ < reported_.size(), "no upcall reports a completion");
  reported_[reported_count_++] = completion;
}

void Device::tell_reported() {
  if (reported_count_ == 0) return;
  const std::size_t count = std::exchange(reported_count_, 0);
  events_.on_completions({reported_.data(), count});
}

bool Device::has_drained(const Connection& connection, Instant now) const {
  if (connection.marker_is_back && connection.receives.size() == connection.held) return true;
  return now >= connection.drain_deadline;
}

unsigned Device::finish_drained(Instant now) {
  unsigned count = 0;
  draining_.for_each([&](Connection& connection) {
    if (!has_drained(connection, now)) return;
    connection.unlink();
    finish(connection);
    ++count;
  });
  return count;
}

// A destroyed queue pair reads and writes no memory any more. Requests without a completion by then
// will never have one.
void Device::finish(Connection& connection) {
  PLNET_CHECK(connection.state == State::kDraining, "a connection drains before it ends");
  const bool forced = !connection.marker_is_back || connection.receives.size() != connection.held;
  if (forced && connection.pair != nullptr) stats_.add(Id::kDrainsForced);
  const QueuePairId name = connection.name;
  destroy(connection);
  const auto flush = [&](WorkEvent event, std::uint64_t cookie) {
    report({.queue_pair = name,
            .event = event,
            .status = std::unexpected(Errc::kAborted),
            .cookie = cookie});
  };
  while (!connection.chains.empty())
    flush(WorkEvent::kSent, pop_chain(connection).cookie);
  PLNET_CHECK(connection.mapped.empty(), "the mappings of payload end with their chains");
  for (; !connection.receives.empty(); connection.receives.pop())
    flush(WorkEvent::kReceived, connection.receives.front());
  tell_reported();
  release(connection);
  events_.on_drained(name);
}

}  // namespace plnet::mlx
