// SPDX-License-Identifier: BSD-3-Clause
// NIDs, networks and process ids as text, in LNet's notation. Checked against lustre-release
// lnet/lnet/nidstrings.c: libcfs_strnid(), libcfs_nidstr_r(), libcfs_str2net_internal(),
// libcfs_net2str_r(), libcfs_idstr().
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

// The space that tools reserve for a NID (LNET_NIDSTR_SIZE); the longest text of this room fits.
inline constexpr std::size_t kNidTextMax = 64;

// "tcp", "o2ib3". "tcp0" is the same as "tcp"; "lo" takes no number. Networks of a type without a
// name: "<type:number>".
[[nodiscard]] Outcome<NetId> parse_net(std::string_view text);

// "ADDRESS@NET", or "ADDRESS" alone for the network tcp. Never yields the wildcard. The address of
// an unknown type is up to four hexadecimal words: "c0a8010a@<77:3>". That form is read for every
// type, since it is also printed for addresses that a known type has no notation for.
[[nodiscard]] Outcome<Nid> parse_nid(std::string_view text);

// Like parse_nid(), with wildcards: "*" or "<?>" is Nid::any(). "*@NET" is the address 0xffffffff
// on that network, as in LNet's fault rules (see is_any_on_net()).
[[nodiscard]] Outcome<Nid> parse_nid_or_any(std::string_view text);
[[nodiscard]] bool is_any_on_net(const Nid& nid);

// "12345-10.0.0.1@tcp", "U12345-…" for a userspace process, or a NID alone for process 12345.
[[nodiscard]] Outcome<ProcessId> parse_process_id(std::string_view text);
// Like parse_process_id(), with wildcards: "LNET_PID_ANY-…", and those of parse_nid_or_any().
[[nodiscard]] Outcome<ProcessId> parse_process_id_or_any(std::string_view text);

[[nodiscard]] std::string text_of_net(NetId net);
[[nodiscard]] std::string text_of(const Nid& nid);
[[nodiscard]] std::string text_of(const ProcessId& id);

// The same for a part of a longer text, so that errors name the position in that text.
[[nodiscard]] Outcome<NetId> parse_net(const TextPart& part);
[[nodiscard]] Outcome<Nid> parse_nid(const TextPart& part);

}  // namespace plnet::lnet
