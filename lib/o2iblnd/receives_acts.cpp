// SPDX-License-Identifier: BSD-3-Clause
// Runs the core's decisions about received messages.
#include "lib/base/check.hpp"
#include "lib/o2iblnd/receives.hpp"

namespace plnet::o2iblnd {

using lnet::RxVerdict;

void Receives::run_decision(Inbound& inbound) {
  PLNET_DEBUG_CHECK(inbound.linked(),
                    "a message is in the list of its connection until it has ended");
  Connection& connection = *inbound.connection;
  const lnet::RxDecision& decision = inbound.decision;
  if (decision.link != nullptr && !peers_.is_releasing(*decision.link))
    peers_.bind(*connection.peer, decision.link);
  if (decision.verdict == RxVerdict::kPark) {
    PLNET_CHECK(connection.parked == nullptr, "nothing is offered behind a parked message");
    environment_.count(Id::kParked);
    PLNET_DEBUG_CHECK(inbound.state == Inbound::State::kOffered, "a message is parked once");
    inbound.state = Inbound::State::kParked;
    connection.parked = &inbound;
    return;
  }
  inbound.wanted = decision.verdict == RxVerdict::kReceive;
  if (decision.verdict == RxVerdict::kReject) {
    end(inbound, {}, Health::kOk);
    return break_off(connection, Id::kRejected);
  }
  if (act(inbound)) {
    if (connection.parked == &inbound) connection.parked = nullptr;
    return;
  }
  // Its answer waits for a descriptor, and so do all later ones.
  connection.parked = &inbound;
  inbound.state = Inbound::State::kDecided;
  inbound.unlink();
  starved_.push_back(inbound, environment_.freed);
}

bool Receives::act(Inbound& inbound) {
  inbound.state = Inbound::State::kAnswering;
  const bool too_much = inbound.kind != Kind::kGetRequest && inbound.wanted &&
                        inbound.decision.length > inbound.length;
  PLNET_CHECK(!too_much, "the core wants no more than the header announces");
  if (inbound.kind == Kind::kImmediate) return receive_immediate(inbound);
  return inbound.kind == Kind::kPutRequest ? receive_put(inbound) : receive_get(inbound);
}

bool Receives::receive_immediate(Inbound& inbound) {
  if (inbound.wanted && inbound.decision.length > 0) {
    std::span<const std::byte> left =
        connections_.bytes_of(*inbound.rx).subspan(kImmediateBytes, inbound.decision.length);
    lnet::for_each_piece(inbound.wanted_payload(), [&](const Fragment& piece) {
      environment_.copy_payload(environment_.config.arenas->bytes(piece).data(),
                                left.first(piece.length));
      left = left.subspan(piece.length);
    });
  }
  release(inbound, ReceiveUse::kPeer);
  end(inbound, {}, Health::kOk);
  return true;
}

// An answer without a transfer: the message ends at once.
bool Receives::answer(Inbound& inbound, Kind kind, std::int32_t status) {
  if (!sends_.answer(*inbound.connection, kind, status, inbound.cookie, nullptr)) return false;
  release(inbound, ReceiveUse::kPeer);
  return true;
}

bool Receives::receive_put(Inbound& inbound) {
  if (!inbound.wanted || inbound.decision.length == 0) {
    if (!answer(inbound, Kind::kPutNak, 0)) return false;
    end(inbound, {}, Health::kOk);
    return true;
  }
  const Result<bool> granted = sends_.grant(*inbound.connection, inbound);
  if (granted) {
    // The next message in this buffer is PUT_DONE, which brings back the credit.
    if (*granted) release(inbound, ReceiveUse::kNone);
    return *granted;
  }
  if (!answer(inbound, Kind::kPutNak, -errno_of(granted.error()))) return false;
  end(inbound, std::unexpected(granted.error()), Health::kLocalError);
  return true;
}

bool Receives::receive_get(Inbound& inbound) {
  if (inbound.wanted && inbound.decision.length > 0) {
    if (!sends_.write_reply(*inbound.connection, inbound)) return false;
    release(inbound, ReceiveUse::kPeer);
    return true;
  }
  const std::int32_t status = inbound.wanted ? 0 : -errno_of(inbound.decision.reason);
  if (!answer(inbound, Kind::kGetDone, status)) return false;
  end(inbound, {}, Health::kOk);
  return true;
}

void Receives::release(Inbound& inbound, ReceiveUse use) {
  PLNET_CHECK(inbound.rx != nullptr, "a message has a buffer until it is answered");
  if (use == ReceiveUse::kPeer) {
    PLNET_CHECK(inbound.connection->held > 0, "each message holds a credit");
    --inbound.connection->held;
  }
  connections_.release(*inbound.rx, use);
  inbound.rx = nullptr;
}

void Receives::end(Inbound& inbound, Result<void> status, Health health) {
  PLNET_CHECK(inbound.connection != nullptr, "a message ends once");
  const lnet::RxHandle rx{pool_.index_of(&inbound), inbound.generation};
  const bool wanted = inbound.wanted;
  if (inbound.connection->parked == &inbound) inbound.connection->parked = nullptr;
  if (inbound.linked()) inbound.unlink();
  inbound.rx = nullptr;
  inbound.connection = nullptr;
  inbound.state = Inbound::State::kFree;
  pool_.give(&inbound);
  ++environment_.freed;
  if (wanted) environment_.core.on_received(rx, status, health);
}

void Receives::on_answered(Inbound& inbound, Result<void> status, Health health) {
  PLNET_DEBUG_CHECK(inbound.state == Inbound::State::kAnswering,
                    "an answer is for a message that waits for it");
  end(inbound, status, health);
}

// Messages without a decision get none any more. A message that waits for an answer of ours ends
// when its queue pair has drained, or when the answer has completed.
void Receives::end_all(Connection& connection) {
  const Errc cause = connection.cause;
  if (Inbound* const parked = connection.parked) {
    const bool undecided = parked->state == Inbound::State::kParked;
    const lnet::RxHandle rx{pool_.index_of(parked), parked->generation};
    parked->wanted = !undecided && parked->decision.verdict == RxVerdict::kReceive;
    end(*parked, std::unexpected(cause), Health::kLocalError);
    if (undecided) environment_.core.on_parked_gone(rx, cause);
  }
}

void Receives::drain_all(Connection& connection) {
  while (Inbound* const one = connection.inbound.front()) {
    environment_.count(Id::kUnexpected);
    end(*one, std::unexpected(connection.cause), Health::kLocalError);
  }
}

}  // namespace plnet::o2iblnd
