// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/tx_pool.hpp"

#include <array>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::o2iblnd {

namespace {

struct StateRow {
  std::string_view name;
  Health late;
  Health closed;
};
constexpr auto kStates = std::to_array<StateRow>({
#define PLNET_X(id, name, late, closed) {name, Health::late, Health::closed},
    PLNET_O2IBLND_TX_STATES(PLNET_X)
#undef PLNET_X
});
static_assert(kStates.size() == kTxStates);

constexpr unsigned kGenerationShift = 32;

}  // namespace

std::string_view name_of(TxState state) {
  return kStates[static_cast<std::size_t>(state)].name;
}
Health health_when_late(TxState state) {
  return kStates[static_cast<std::size_t>(state)].late;
}
Health health_when_closed(TxState state) {
  return kStates[static_cast<std::size_t>(state)].closed;
}

TxPool::TxPool(Environment& environment, std::uint64_t first)
    : environment_(environment),
      first_(first),
      pool_(static_cast<std::size_t>(environment.config.tunables.ntx) +
            environment.config.replies_max) {
  PLNET_CHECK(environment.config.tunables.ntx > 0 && environment.config.replies_max > 0,
              "room for a message and for an answer");
}

Tx* TxPool::take(bool reply) {
  std::size_t& used = reply ? replies_ : ours_;
  const std::size_t limit = reply ? environment_.config.replies_max
                                  : static_cast<std::size_t>(environment_.config.tunables.ntx);
  if (used == limit) return nullptr;
  ++used;
  Tx* const tx = pool_.take();
  PLNET_CHECK(tx != nullptr && tx->state == TxState::kFree && !tx->linked(), "a free one is idle");
  tx->reply = reply;
  tx->sending = 0;
  tx->sink_open = tx->answered = tx->reserved = tx->gathered = false;
  tx->head_bytes = 0;
  ++tx->generation;
  tx->cookie = index_of(*tx) | std::uint64_t{tx->generation} << kGenerationShift;
  tx->connection = nullptr;
  tx->peer = nullptr;
  tx->transmit = nullptr;
  tx->inbound = nullptr;
  tx->status = {};
  tx->health = Health::kOk;
  tx->bytes = 0;
  tx->code = 0;
  tx->peer_cookie = 0;
  return tx;
}

void TxPool::give(Tx& tx) {
  give_unused(tx);
  ++environment_.freed;
}

void TxPool::give_unused(Tx& tx) {
  PLNET_CHECK(tx.sending == 0, "the device has no request of it");
  if (tx.linked()) tx.unlink();
  if (tx.mapping != kNoMapping) environment_.driver.release(std::exchange(tx.mapping, kNoMapping));
  tx.state = TxState::kFree;
  std::size_t& used = tx.reply ? replies_ : ours_;
  PLNET_CHECK(used > 0, "a descriptor is given back once");
  --used;
  pool_.give(&tx);
}

Fragment TxPool::buffer(const Tx& tx, std::uint32_t length) const {
  PLNET_DEBUG_CHECK(length <= kMessageBytes, "a descriptor has one buffer");
  const BufferAddress& memory = environment_.config.message_memory;
  return {{memory.arena, memory.offset + (first_ + index_of(tx)) * kMessageBytes}, length};
}

std::span<std::byte> TxPool::bytes(const Tx& tx) const {
  return environment_.config.arenas->bytes(buffer(tx, kMessageBytes));
}

Tx* TxPool::find(std::uint64_t cookie) {
  Tx* const tx = at(static_cast<std::uint32_t>(cookie));
  return tx != nullptr && tx->cookie == cookie ? tx : nullptr;
}

}  // namespace plnet::o2iblnd
