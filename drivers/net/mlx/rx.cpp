// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/rx.hpp"

#include <algorithm>

namespace plnet::mlx {

using o2iblnd::ReceiveRequest;

std::size_t Rx::post(Connection& connection, std::span<const ReceiveRequest> burst) {
  PLNET_CHECK(connection.pair != nullptr, "receives are posted on a queue pair");
  std::size_t posted = 0;
  while (posted < burst.size() && connection.receive_room > 0) {
    const std::size_t wanted =
        std::min({burst.size() - posted, kAtATime, std::size_t{connection.receive_room}});
    const std::size_t taken = post_some(connection, burst.subspan(posted, wanted));
    posted += taken;
    if (taken < wanted) break;
  }
  stats_.add(MlxTable::Id::kReceives, posted);
  stats_.add(MlxTable::Id::kReceivesRefused, burst.size() - posted);
  return posted;
}

std::size_t Rx::post_some(Connection& connection, std::span<const ReceiveRequest> burst) {
  PLNET_CHECK(!burst.empty() && burst.size() <= kAtATime, "the caller limits a list of receives");
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): those in use are filled
  std::array<ibv_recv_wr, kAtATime> requests;
  std::array<ibv_sge, kAtATime> pieces;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const Fragment& buffer = burst[i].buffer;
    const auto number = connection.receives.next() + static_cast<std::uint32_t>(i);
    pieces[i] = {.addr = reinterpret_cast<std::uint64_t>(adapter_.arenas().bytes(buffer).data()),
                 .length = buffer.length,
                 .lkey = adapter_.keys(buffer).local};
    requests[i] = {.wr_id = WorkName::of(WorkName::Kind::kReceive, connection, number).packed(),
                   .next = i + 1 == burst.size() ? nullptr : &requests[i + 1],
                   .sg_list = &pieces[i],
                   .num_sge = 1};
  }
  ibv_recv_wr* refused = nullptr;
  std::size_t taken = burst.size();
  if (ibv_post_recv(connection.pair, requests.data(), &refused) != 0)
    taken = static_cast<std::size_t>(refused - requests.data());
  for (const ReceiveRequest& request : burst.first(taken))
    connection.receives.push(request.cookie);
  connection.receive_room -= static_cast<unsigned>(taken);
  return taken;
}

}  // namespace plnet::mlx
