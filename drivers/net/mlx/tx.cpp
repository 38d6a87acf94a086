// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/tx.hpp"

#include "lib/base/check.hpp"

namespace plnet::mlx {

using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;

bool Tx::post(Connection& connection, std::span<const WorkRequest> chain) {
  PLNET_CHECK(!chain.empty() && chain.size() <= kChainMax, "a chain has 1 to 258 requests");
  PLNET_CHECK(connection.pair != nullptr, "a chain is posted on a queue pair");
  if (chain.size() > connection.send_room) {
    stats_.add(MlxTable::Id::kChainsRefused);
    return false;
  }
  if (!gather(chain)) {
    stats_.add(MlxTable::Id::kChainsRefused);
    return false;
  }
  const Names names{
      .part = WorkName::of(WorkName::Kind::kPart, connection, connection.chains.next()).packed(),
      .last = WorkName::of(WorkName::Kind::kChain, connection, connection.chains.next()).packed()};
  const bool posted = connection.extended != nullptr ? post_written(connection, chain, names)
                                                     : post_listed(connection, chain, names);
  if (!posted) {
    give_mappings();
    stats_.add(MlxTable::Id::kChainsRefused);
    return false;
  }
  const auto requests = static_cast<std::uint32_t>(chain.size());
  connection.chains.push({.cookie = chain.back().cookie,
                          .part_cookie = chain.front().cookie,
                          .requests = requests,
                          .mapped = mapped_count_});
  if (mapped_count_ > 0) keep_mappings(connection);
  connection.send_room -= requests;
  stats_.add(MlxTable::Id::kChains);
  stats_.add(MlxTable::Id::kWork, requests);
  return true;
}

bool Tx::gather(std::span<const WorkRequest> chain) {
  mapped_count_ = 0;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const WorkRequest& request = chain[k];
    PLNET_CHECK(request.piece_count <= o2iblnd::kGatherMax,
                "a request has no more pieces than a queue pair gathers");
    for (unsigned i = 0; i < request.piece_count; ++i) {
      const Fragment& piece = request.pieces[i];
      const bool is_payload = i > 0 || request.kind == WorkKind::kWrite;
      std::uint32_t key = 0;
      if (is_payload && maps_.maps(piece.at.arena)) {
        const auto mapped = local_key(piece);
        if (!mapped) {
          give_mappings();
          return false;
        }
        key = *mapped;
      } else {
        key = adapter_.keys(piece).local;
      }
      pieces_[k][i] = {
          .addr = reinterpret_cast<std::uint64_t>(adapter_.arenas().bytes(piece).data()),
          .length = piece.length,
          .lkey = key};
    }
  }
  return true;
}

// Memory that cannot be mapped gets a key with which every request fails.
Result<std::uint32_t> Tx::local_key(const Fragment& payload) {
  if (mapped_count_ > 0 && maps_.region(mapped_[mapped_count_ - 1]).covers(payload))
    return last_key_;
  const auto mapped = maps_.take(payload, MapCache::Use::kOwn);
  if (!mapped && mapped.error() == Errc::kNoSpace) return std::unexpected(Errc::kNoSpace);
  if (!mapped) return 0;
  PLNET_CHECK(mapped_count_ < mapped_.size(),
              "a chain has room for the mappings of all its pieces");
  mapped_[mapped_count_++] = mapped->slot;
  last_key_ = mapped->keys.local;
  return last_key_;
}

void Tx::keep_mappings(Connection& connection) {
  // Room for all requests, from the first chain on that needs it.
  if (connection.mapped.capacity() == 0)
    connection.mapped.resize(connection.chains.capacity() * o2iblnd::kGatherMax);
  for (const std::uint32_t slot : std::span(mapped_).first(mapped_count_))
    connection.mapped.push(slot);
}

void Tx::give_mappings() {
  for (const std::uint32_t slot : std::span(mapped_).first(mapped_count_))
    maps_.give(slot, MapCache::Use::kOwn);
  mapped_count_ = 0;
}

bool Tx::goes_inline(const WorkRequest& request) const {
  return request.kind == WorkKind::kSend && request.piece_count == 1 &&
         request.pieces[0].length <= adapter_.limits().inline_bytes_max;
}

bool Tx::post_written(Connection& connection, std::span<const WorkRequest> chain,
                      const Names& names) {
  ibv_qp_ex* const pair = connection.extended;
  ibv_wr_start(pair);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const WorkRequest& request = chain[i];
    const bool last = i + 1 == chain.size();
    pair->wr_id = last ? names.last : names.part;
    pair->wr_flags = last ? IBV_SEND_SIGNALED : 0;
    if (request.kind == WorkKind::kWrite) {
      ibv_wr_rdma_write(pair, request.remote_key, request.remote_address);
    } else {
      ibv_wr_send(pair);
    }
    if (goes_inline(request)) {
      const auto bytes = adapter_.arenas().bytes(request.pieces[0]);
      ibv_wr_set_inline_data(pair, bytes.data(), bytes.size());
      stats_.add(MlxTable::Id::kInlined);
    } else {
      ibv_wr_set_sge_list(pair, request.piece_count, pieces_[i].data());
    }
  }
  return ibv_wr_complete(pair) == 0;
}

bool Tx::post_listed(Connection& connection, std::span<const WorkRequest> chain,
                     const Names& names) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const WorkRequest& request = chain[i];
    const bool last = i + 1 == chain.size();
    ibv_send_wr& posted = requests_[i];
    posted = {.wr_id = last ? names.last : names.part,
              .next = last ? nullptr : &requests_[i + 1],
              .sg_list = pieces_[i].data(),
              .num_sge = request.piece_count,
              .opcode = request.kind == WorkKind::kWrite ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
              .send_flags = last ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0U};
    posted.wr.rdma = {.remote_addr = request.remote_address, .rkey = request.remote_key};
    if (!goes_inline(request)) continue;
    posted.send_flags |= IBV_SEND_INLINE;
    stats_.add(MlxTable::Id::kInlined);
  }
  ibv_send_wr* refused = nullptr;
  if (ibv_post_send(connection.pair, requests_.data(), &refused) == 0) return true;
  if (refused == requests_.data()) return false;
  // There was room, so the queue pair is in error: what was taken of the chain is flushed, and the
  // chain ends with it.
  connection.broken.store(true);
  return true;
}

bool Tx::post_marker(Connection& connection) {
  PLNET_CHECK(connection.state == Connection::State::kDraining, "the marker is the last request");
  const std::uint64_t name =
      WorkName::of(WorkName::Kind::kChain, connection, connection.chains.next()).packed();
  ibv_send_wr request{.wr_id = name, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(connection.pair, &request, &refused) == 0;
}

}  // namespace plnet::mlx
