// SPDX-License-Identifier: BSD-3-Clause
// NIDs, networks and process ids as text, read and printed as LNet does it.
// Checked against lustre-release lnet/lnet/nidstrings.c: libcfs_strnid(), libcfs_nidstr_r(),
// libcfs_str2net_internal(), libcfs_net2str_r(), libcfs_idstr().
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

// Tools reserve this for a NID (LNET_NIDSTR_SIZE); the longest that we print fits.
inline constexpr std::size_t kNidTextMax = 64;

// "tcp", "o2ib3". "tcp0" is the same as "tcp"; "lo" takes no number. Networks of a type without a
// name: "<type:number>".
[[nodiscard]] Outcome<NetId> parse_net(std::string_view text);

// "ADDRESS@NET", or "ADDRESS" alone for the network tcp. Never yields the wildcard.
// The address of an unknown type is up to four hexadecimal words: "c0a8010a@<77:3>". It is read
// for every type, since that is also how we print what a known type has no notation for.
[[nodiscard]] Outcome<Nid> parse_nid(std::string_view text);

// As parse_nid(), and the wildcards: "*" or "<?>" is Nid::any(). "*@NET" is the address 0xffffffff
// on that network, which is how LNet's fault rules say it (see is_any_on_net()).
[[nodiscard]] Outcome<Nid> parse_nid_or_any(std::string_view text);
[[nodiscard]] bool is_any_on_net(const Nid& nid);

// "12345-10.0.0.1@tcp", "U12345-…" for a userspace process, or a NID alone for process 12345.
[[nodiscard]] Outcome<ProcessId> parse_process_id(std::string_view text);
// As parse_process_id(), and the wildcards: "LNET_PID_ANY-…", and those of parse_nid_or_any().
[[nodiscard]] Outcome<ProcessId> parse_process_id_or_any(std::string_view text);

[[nodiscard]] std::string text_of_net(NetId net);
[[nodiscard]] std::string text_of(const Nid& nid);
[[nodiscard]] std::string text_of(const ProcessId& id);

// The same for a part of a longer text, so that errors point into that.
[[nodiscard]] Outcome<NetId> parse_net(const TextPart& part);
[[nodiscard]] Outcome<Nid> parse_nid(const TextPart& part);

}  // namespace plnet::lnet
