// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/lazy_portals.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/move/receiver.hpp"

namespace plnet::lnet {

void LazyPortals::delay(Receive& receive) {
  PLNET_CHECK(receive.header.type == MessageType::kPut, "only PUTs wait on lazy portals");
  PLNET_CHECK(core_.shared.portals->home(portal_of(receive.header)) == core_.id,
              "a message waits at the home of its portal");
  PLNET_CHECK(receive.is(ReceiveState::kLazyWait),
              "the shard that received the message has parked it for the portal");
  receive.asker = receive.first_asked = core_.id;
  ask_all(receive);
}

// A message without its connection must not use up an entry.
void LazyPortals::ask_all(Receive& receive) {
  PLNET_CHECK(receive.asker == core_.id, "the home of the portal asks for its messages");
  if (receive.gone.get()) return leave(receive);
  receive.attach_epoch = attach_epoch_;
  search_.match_here(receive);
  if (!search_.ask_next(receive)) on_answer(receive);
}

// An entry attached on a shard that had answered before has changed the epoch: all are asked again.
void LazyPortals::on_answer(Receive& receive) {
  PLNET_CHECK(receive.asker == core_.id,
              "the home of a lazy portal gets the answers to its questions");
  if (!MatchSearch::found_none(receive)) return leave(receive);
  if (!core_.shared.portals->lazy(portal_of(receive.header))) {
    receive.cause = Cause::kDroppedLazyCleared;
    return leave(receive);
  }
  if (receive.attach_epoch != attach_epoch_) return ask_all(receive);
  PLNET_CHECK(receive.is(ReceiveState::kLazyWait) && !receive.matched(),
              "a delayed message has no match");
  delayed_.push_back(receive);
  core_.sweep_wanted = true;
}

void LazyPortals::leave(Receive& receive) {
  PLNET_CHECK(!receive.linked(), "a message that leaves waits in no queue");
  if (receive.origin == core_.id) return receiver_.on_match_answer(receive);
  core_.post(receive, receive.origin, ParcelStep::kMatched);
}

void LazyPortals::retry() {
  ++attach_epoch_;
  WaitQueue<Receive> again;
  again.take_all(delayed_);
  while (Receive* const receive = again.pop_front())
    ask_all(*receive);
}

void LazyPortals::sweep() {
  delayed_.for_each([&](Receive& receive) {
    if (!receive.gone.get()) return;
    receive.unlink();
    leave(receive);
  });
  if (!delayed_.empty()) core_.sweep_wanted = true;
}

}  // namespace plnet::lnet
