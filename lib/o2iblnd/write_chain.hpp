// SPDX-License-Identifier: BSD-3-Clause
// The remote writes that bring a payload into a peer's buffer, and buffers of ours laid open to a
// peer. lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_init_rdma().
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/result.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {

struct WriteRules {
  unsigned pieces_max = kGatherMax;  // source pieces of one write
  unsigned writes_max = kFragmentsMax;
  std::uint64_t cookie = 0;
};

// The first `length` bytes of `source` to `sink`, piece by piece, whatever the alignment of either;
// returns the writes used. kProtocol: the sink is too small; kTooBig: more writes than allowed.
[[nodiscard]] Result<std::size_t> make_writes(const lnet::Payload& source, std::uint32_t length,
                                              const RemoteBuffer& sink, const WriteRules& rules,
                                              std::span<WorkRequest> out);

// A buffer that is laid open, and the mapping behind it, to be released.
struct OpenBuffer {
  RemoteBuffer buffer;
  std::uint32_t mapping = kNoMapping;
};

// The first `length` bytes of a window, as fragments of a message of `kind` in `out`; adjacent
// pieces are merged. kNoSpace: all mappings are in use now; kNotSupported: no device knows the
// memory, or it has several keys; kTooBig: more than `fragments_max`, since the peer needs a write
// for each; others: errors of the device.
[[nodiscard]] Result<OpenBuffer> lay_open(const lnet::Payload& window, std::uint32_t length,
                                          VerbsDriver& driver, std::uint32_t fragments_max,
                                          Kind kind, std::span<std::byte> out);

}  // namespace plnet::o2iblnd
