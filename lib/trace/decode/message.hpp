// SPDX-License-Identifier: BSD-3-Clause
// A record with all that its payload decodes to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/trace/decode/lnet_names.hpp"
#include "lib/trace/decode/rpc.hpp"
#include "lib/trace/decode/selftest.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

// Refers to the payload of the record.
using Content = std::variant<std::monostate, Rpc, SelftestMessage, lnet::PingView>;

struct Message {
  Record record;
  Content content;

  [[nodiscard]] const Rpc* rpc() const { return std::get_if<Rpc>(&content); }
  [[nodiscard]] const SelftestMessage* selftest() const {
    return std::get_if<SelftestMessage>(&content);
  }
  [[nodiscard]] const lnet::PingView* ping() const { return std::get_if<lnet::PingView>(&content); }
  // A PUT that is a request to, or a reply of, a Lustre service or selftest.
  [[nodiscard]] bool is_request() const;
  [[nodiscard]] bool is_reply() const;
  [[nodiscard]] bool is_early_reply() const;
  // The status in a reply of either kind; 0 is success.
  [[nodiscard]] std::optional<std::int64_t> status() const;
};

[[nodiscard]] Message decode(const Record& record);

// "tcp1": the network of the NI or, if the record has none, of the NID that it came from or goes
// to.
[[nodiscard]] lnet::NetId net_of(const Record& record);

}  // namespace plnet::trace
