// SPDX-License-Identifier: BSD-3-Clause
// A failed operation begins again, as a Lustre client sends its RPC again. An attempt after the
// first one stands for the reconnect and the RPC, which follows it within a round trip.
#include <algorithm>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/host/program.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kNoRoomPause = std::chrono::milliseconds(100);

}  // namespace

bool Program::repeats(Story story) const {
  return host_.world().rpcs != nullptr && story != Story::kPutAfter && story != Story::kGetAfter;
}

// The client unlinks the memory of an attempt that has no answer in time.
void Program::bound_rpc(Operation& operation) {
  const RpcTimeouts& lustre = host_.world().config.lustre;
  operation.expires =
      operation.begun +
      (operation.attempt == 1 ? lustre.of_request() : lustre.of_connect(operation.attempt - 1));
  if (operation.expires >= expire_at_) return;
  expire_at_ = operation.expires;
  later(expire_at_, Deed::kExpire, 0);
}

void Program::expire_some(Instant now) {
  if (now < expire_at_) return;  // another one was earlier
  expire_at_ = Instant::max();
  for (std::uint32_t i = 0; i < records_.capacity(); ++i) {
    const Record& record = records_.at(i);
    if (!records_.is_lent(i) || !record.live || record.kind != Record::Kind::kInitiator) continue;
    const Operation* const operation = ledger_.find(record.id);
    if (operation == nullptr) continue;
    if (operation->expires <= now) {
      (void)lnet_.unlink(record.md);
    } else {
      expire_at_ = std::min(expire_at_, operation->expires);
    }
  }
  if (expire_at_ < Instant::max()) later(expire_at_, Deed::kExpire, 0);
}

// The client connects at once, and then in intervals.
void Program::wait_to_send_again(Request request) {
  const World& world = host_.world();
  const Instant now = world.loop.now();
  request.due = request.attempt == 1
                    ? now
                    : std::max(now, request.sent + world.config.lustre.between_connects());
  ++request.attempt;
  again_.push_back(request);
  later(request.due, Deed::kSendAgain, 0);
  host_.ring(shard_);
}

void Program::send_some_again(Instant now) {
  if (host_.world().stopping || unlinking_) return;
  const auto ready =
      std::ranges::find_if(again_, [now](const Request& request) { return request.due <= now; });
  if (ready == again_.end()) return;
  Request request = *ready;
  again_.erase(ready);
  request.sent = host_.world().loop.now();
  refused_ = false;
  const Nid& nid = host_.world().hosts[request.target]->nid_for(host_, random_);
  Operation* const operation = new_operation(now);
  if (operation != nullptr && begin(*operation, request, nid, now)) return;
  if (refused_) return wait_to_send_again(request);
  request.due = now + kNoRoomPause;
  again_.push_back(request);
  later(request.due, Deed::kSendAgain, 0);
}

}  // namespace plnet::sim
