// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/words.hpp"

#include <array>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/show/format.hpp"

namespace plnet::trace {

namespace {

std::string selftest_name(std::uint64_t type) {
  return name_or_number(rpc_names::selftest_types(), type);
}

}  // namespace

std::string hex_text(std::uint64_t number) {
  return fmt::format("0x{:X}", number);
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter < 0x20 || letter == 0x7f) letter = '?';
  }
  return out;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array kUnits = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit)
    amount /= 1024;
  return fmt::format("{:.{}f}{}", amount, unit == 0 || amount >= 100 ? 0 : 1, kUnits[unit]);
}

std::string duration_text(std::uint64_t ns) {
  if (ns < 1000) return fmt::format("{}ns", ns);
  const auto us = static_cast<double>(ns) / 1e3;
  if (us < 1e3) return fmt::format("{:.1f}us", us);
  if (us < 1e6) return fmt::format("{:.1f}ms", us / 1e3);
  return fmt::format("{:.2f}s", us / 1e6);
}

std::string_view rpc_type_text(const Message& message) {
  const Rpc* const rpc = message.rpc();
  if (rpc == nullptr) return "-";
  if (message.is_early_reply()) return "EARLY";
  const auto type = rpc->type();
  const std::string_view name = type ? name_in(rpc_names::body_types(), *type) : "";
  return name.empty() ? "-" : name;
}

std::string operation_text(const Message& message) {
  if (const Rpc* const rpc = message.rpc()) {
    if (const auto opcode = rpc->opcode()) return name_or_number(rpc_names::opcodes(), *opcode);
    return rpc->is_opaque() ? "encrypted RPC" : "RPC";
  }
  if (const SelftestMessage* const selftest = message.selftest()) {
    return selftest_name(selftest->type);
  }
  const Record& record = message.record;
  std::string text = name_or_number(message_type_names(), record.header.type);
  if (const auto portal = record.portal()) text += " " + name_or_number(portal_names(), *portal);
  return text;
}

std::string operation_text(const Exchange& exchange) {
  switch (exchange.kind) {
    case ExchangeKind::kRpc: return name_or_number(rpc_names::opcodes(), exchange.operation);
    case ExchangeKind::kSelftest: return selftest_name(exchange.operation);
    case ExchangeKind::kLnet: break;
  }
  return name_or_number(message_type_names(), exchange.operation) + " " +
         name_or_number(portal_names(), exchange.portal);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string text_of_time(std::uint64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / kNsPerSecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(seconds), time_ns % kNsPerSecond);
}

}  // namespace plnet::trace
