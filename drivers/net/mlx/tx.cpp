// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/tx.hpp"

namespace plnet::mlx {

using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;

bool Tx::post(Connection& connection, std::span<const WorkRequest> chain) {
  PLNET_CHECK(!chain.empty() && chain.size() <= kChainMax, "a chain has 1 to 258 requests");
  if (chain.size() > connection.send_room) {
    stats_.add(MlxTable::Id::kChainsRefused);
    return false;
  }
  const Names names{
      .part = WorkName::of(WorkName::Kind::kPart, connection, connection.chains.next()).packed(),
      .last = WorkName::of(WorkName::Kind::kChain, connection, connection.chains.next()).packed()};
  const bool posted = connection.extended != nullptr ? post_written(connection, chain, names)
                                                     : post_listed(connection, chain, names);
  if (!posted) {
    stats_.add(MlxTable::Id::kChainsRefused);
    return false;
  }
  const auto requests = static_cast<std::uint32_t>(chain.size());
  connection.chains.push(
      {.cookie = chain.back().cookie, .part_cookie = chain.front().cookie, .requests = requests});
  connection.send_room -= requests;
  stats_.add(MlxTable::Id::kChains);
  stats_.add(MlxTable::Id::kWork, requests);
  return true;
}

unsigned Tx::gather(const WorkRequest& request, Pieces& pieces) const {
  for (unsigned i = 0; i < request.piece_count; ++i) {
    const Fragment& piece = request.pieces[i];
    pieces[i] = {.addr = reinterpret_cast<std::uint64_t>(adapter_.arenas().bytes(piece).data()),
                 .length = piece.length,
                 .lkey = adapter_.keys(piece).local};
  }
  return request.piece_count;
}

bool Tx::goes_inline(const WorkRequest& request) const {
  return request.kind == WorkKind::kSend && request.piece_count == 1 &&
         request.pieces[0].length <= adapter_.limits().inline_bytes_max;
}

bool Tx::post_written(Connection& connection, std::span<const WorkRequest> chain,
                      const Names& names) {
  ibv_qp_ex* const pair = connection.extended;
  ibv_wr_start(pair);
  for (const WorkRequest& request : chain) {
    const bool last = &request == &chain.back();
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
      Pieces pieces;
      const unsigned count = gather(request, pieces);
      ibv_wr_set_sge_list(pair, count, pieces.data());
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
              .num_sge = static_cast<int>(gather(request, pieces_[i])),
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
  const std::uint64_t name =
      WorkName::of(WorkName::Kind::kChain, connection, connection.chains.next()).packed();
  ibv_send_wr request{.wr_id = name, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(connection.pair, &request, &refused) == 0;
}

}  // namespace plnet::mlx
