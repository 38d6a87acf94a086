// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/client_queues.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/check.hpp"
#include "lib/lnet/flow/client_allowance.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

namespace {
BufferClass class_of(const Receive& receive) {
  return buffer_class_of(receive.header.payload_length);
}
}  // namespace

// Waiting messages count as if they had a credit, as in the kernel's reports.
bool ClientQueues::take_credit(Receive& receive) {
  PLNET_CHECK(receive.forwarded && !receive.forwarding.has_credit,
              "a forwarded message takes one credit");
  PLNET_CHECK(receive.peer != nullptr, "the client of a forwarded message is a peer NI");
  ClientCredits& client = receive.peer->client;
  const ClientAllowance most = allowance_of(receive.port->ni().tunables, core_.shared.parameters);
  client.may_borrow = !most.is_set;
  if (most.credits != client.credits_max) [[unlikely]] {
    client.credits += most.credits - client.credits_max;
    client.credits_max = most.credits;
    client.credits_min = client.available();
  }
  receive.forwarding.client = receive.peer;
  receive.forwarding.has_credit = true;
  if (client.used() == 0) ++clients_;
  --client.credits;
  const BufferClass of = class_of(receive);
  const bool goes_on = client.waiting_count == 0 && may_run(client, of);
  if (goes_on) {
    ++client.running[of];
  } else {
    core_.causes.add(Cause::kHeldClientCredit);
    core_.waits.begin(receive, ReceiveState::kCreditWait);
    client.waiting.push_back(receive);
    ++client.waiting_count;
    core_.sweep_wanted = true;
  }
  client.credits_min = std::min(client.credits_min, client.available());
  PLNET_DEBUG_CHECK(client.is_settled(), "each message with a credit of its client runs or waits");
  return goes_on;
}

// A client always has its credits. Beyond them it borrows, unless the configuration sets the
// number: of each class, half of the free buffers divided by the number of clients. A single client
// gets a third of a class, and two thirds stay free for later clients and for credits.
bool ClientQueues::may_run(const ClientCredits& client, BufferClass of) const {
  PLNET_CHECK(clients_ > 0, "a client with a message is counted");
  const auto& running = client.running;
  const auto all = std::accumulate(running.begin(), running.end(), std::uint32_t{0});
  if (all < static_cast<std::uint32_t>(client.credits_max)) return true;
  return client.may_borrow &&
         running[of] < core_.buffers.free_count(of) / (kBorrowedPart * clients_);
}

void ClientQueues::give_credit(Receive& receive) {
  Forwarding& forwarding = receive.forwarding;
  if (!forwarding.has_credit) return;
  forwarding.has_credit = false;
  PLNET_DEBUG_CHECK(forwarding.client != nullptr, "a message with a credit has its client");
  ClientCredits& client = forwarding.client->client;
  PLNET_CHECK(client.used() > 0, "a credit that comes back was given");
  ++client.credits;
  if (client.used() == 0) {
    PLNET_DEBUG_CHECK(clients_ > 0, "a client with messages is counted");
    --clients_;
  }
  if (receive.is(ReceiveState::kCreditWait)) {
    PLNET_DEBUG_CHECK(client.waiting_count > 0, "a message that waits for a credit is counted");
    core_.waits.end(receive);
    receive.unlink();
    --client.waiting_count;
  } else {
    PLNET_DEBUG_CHECK(client.running[class_of(receive)] > 0,
                      "a message that does not wait is counted as running");
    --client.running[class_of(receive)];
  }
  PLNET_DEBUG_CHECK(client.is_settled(), "each message with a credit of its client runs or waits");
  if (client.waiting_count > 0) start_waiting(client);
}

// The end of a running message calls this again, so every waiting message gets its turn.
void ClientQueues::start_waiting(ClientCredits& client) {
  while (client.waiting_count > 0) {
    PLNET_DEBUG_CHECK(!client.waiting.empty(),
                      "the count of waiting messages is that of the queue");
    const BufferClass of = class_of(*client.waiting.front());
    if (!may_run(client, of)) return;
    Receive& next = *client.waiting.pop_front();
    PLNET_CHECK(next.is(ReceiveState::kCreditWait), "messages of the queue wait for a credit");
    PLNET_DEBUG_CHECK(next.forwarding.has_credit && next.origin == core_.id,
                      "a message that waits for its client is counted there");
    ++client.running[of];
    --client.waiting_count;
    core_.waits.end(next);
    core_.forwarder.admit_again(next);
  }
}

}  // namespace plnet::lnet
