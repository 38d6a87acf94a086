// SPDX-License-Identifier: BSD-3-Clause
// Peer-router credits: how much of what a client sends may be under way at a time.
#include <algorithm>
#include <numeric>

#include "lib/lnet/flow/client_allowance.hpp"
#include "lib/lnet/move/forwarder.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

namespace {

BufferClass class_of(const Receive& receive) {
  return buffer_class_of(receive.header.payload_length);
}

}  // namespace

// Those that wait have taken theirs, too, as the kernel shows it.
bool Forwarder::take_credit(Receive& receive) {
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
  return goes_on;
}

// A client always has its credits. Beyond them it borrows, unless their number is set: as many of a
// class as half of the free buffers are by client. Alone it gets a third of them, and however many
// there are, two thirds stay free for whoever comes, and for what has credits.
bool Forwarder::may_run(const ClientCredits& client, BufferClass of) const {
  const auto& running = client.running;
  const auto all = std::accumulate(running.begin(), running.end(), std::uint32_t{0});
  if (all < static_cast<std::uint32_t>(client.credits_max)) return true;
  return client.may_borrow &&
         running[of] < core_.buffers.free_count(of) / (kBorrowedPart * clients_);
}

void Forwarder::give_credit(Receive& receive) {
  Forwarding& forwarding = receive.forwarding;
  if (!forwarding.has_credit) return;
  forwarding.has_credit = false;
  ClientCredits& client = forwarding.client->client;
  ++client.credits;
  if (client.used() == 0) --clients_;
  if (receive.is(ReceiveState::kCreditWait)) {
    core_.waits.end(receive);
    receive.unlink();
    --client.waiting_count;
  } else {
    --client.running[class_of(receive)];
  }
  if (client.waiting_count > 0) start_clients(client);
}

// Something of it is under way while something waits, so its end comes by here.
void Forwarder::start_clients(ClientCredits& client) {
  while (client.waiting_count > 0) {
    const BufferClass of = class_of(*client.waiting.front());
    if (!may_run(client, of)) return;
    Receive& next = *client.waiting.pop_front();
    ++client.running[of];
    --client.waiting_count;
    core_.waits.end(next);
    ask_again(next);
  }
}

}  // namespace plnet::lnet
