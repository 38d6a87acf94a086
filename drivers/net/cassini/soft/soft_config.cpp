// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/soft_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "drivers/net/cassini/soft/codes.hpp"

namespace plnet::cassini::soft {
namespace {

using Line = std::expected<void, std::string>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The words of a value, which blanks separate: `take` until one is wrong, which is returned.
template <class Take>
std::optional<std::string_view> first_wrong_word(std::string_view value, Take take) {
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find_first_of(" \t"));
    if (!take(word)) return word;
    value = trimmed(value.substr(word.size()));
  }
  return std::nullopt;
}

// In the order of cxi_traffic_class (cxi-abi.h).
constexpr std::array<std::string_view, kTrafficClasses> kClassNames{
    "dedicated_access", "low_latency", "bulk_data", "best_effort"};

struct Parser {
  std::optional<std::uint32_t> devices;
  std::map<std::uint32_t, NicAddress> addresses;
  bool joined = false;
  std::vector<std::uint16_t> vnis;
  std::optional<unsigned> traffic_classes;
  std::optional<bool> strict;
  std::string fabric;

  Line set(std::string_view name, std::string_view value) {
    constexpr std::string_view kAddress = "address.";
    if (name == "devices") return set_devices(value);
    if (name == "join") return set_join(value);
    if (name == "vnis") return set_vnis(value);
    if (name == "classes") return set_classes(value);
    if (name == "strict") return set_strict(value);
    if (name.starts_with(kAddress)) return set_address(name.substr(kAddress.size()), value);
    return std::unexpected("no such setting: " + std::string(name));
  }

 private:
  Line set_devices(std::string_view value) {
    if (devices) return std::unexpected("devices is set a second time");
    devices = number_of(value);
    if (devices && *devices >= 1 && *devices <= SoftConfig::kDevicesMax) return {};
    return std::unexpected("devices is a number from 1 to " +
                           std::to_string(SoftConfig::kDevicesMax) + ", not " + std::string(value));
  }
  Line set_join(std::string_view value) {
    if (joined) return std::unexpected("join is set a second time");
    joined = true;
    constexpr std::string_view kLocal = "local ";
    if (value == "process") return {};
    if (value.starts_with(kLocal)) {
      fabric = trimmed(value.substr(kLocal.size()));
      if (fabric.starts_with('/')) return {};
    }
    return std::unexpected(
        "the devices are joined in this process (join = process) or with other processes by a "
        "directory (join = local /DIRECTORY), not " +
        std::string(value));
  }
  Line set_vnis(std::string_view value) {
    if (!vnis.empty()) return std::unexpected("vnis stands here a second time");
    const auto wrong = first_wrong_word(value, [this](std::string_view word) {
      const auto vni = number_of(word);
      if (!vni || *vni == 0 || *vni > UINT16_MAX || vnis.size() == Limits{}.service_vnis)
        return false;
      vnis.push_back(static_cast<std::uint16_t>(*vni));
      return true;
    });
    if (!wrong) return {};
    return std::unexpected("vnis are one to four numbers from 1 to 65535, not " +
                           std::string(*wrong));
  }
  Line set_classes(std::string_view value) {
    if (traffic_classes) return std::unexpected("classes stands here a second time");
    traffic_classes = 0;
    const auto wrong = first_wrong_word(value, [this](std::string_view word) {
      const auto* const found = std::ranges::find(kClassNames, word);
      if (found == kClassNames.end()) return false;
      *traffic_classes |= 1U << static_cast<unsigned>(found - kClassNames.begin());
      return true;
    });
    if (!wrong) return {};
    return std::unexpected(
        "classes are dedicated_access, low_latency, bulk_data and best_effort, not " +
        std::string(*wrong));
  }
  Line set_strict(std::string_view value) {
    if (strict) return std::unexpected("strict stands here a second time");
    if (value != "yes" && value != "no")
      return std::unexpected("strict is yes or no, not " + std::string(value));
    strict = value == "yes";
    return {};
  }
  Line set_address(std::string_view device, std::string_view value) {
    const auto number = number_of(device);
    if (!number || *number >= SoftConfig::kDevicesMax)
      return std::unexpected("no such device: " + std::string(device));
    const auto address = number_of(value);
    if (!address || *address == 0 || *address >= kNicAddressAny)
      return std::unexpected("a NIC address is 1 to 0xffffe, not " + std::string(value));
    const bool taken = std::ranges::any_of(
        addresses, [&](const auto& one) { return one.first != *number && one.second == *address; });
    if (taken) return std::unexpected("another device has the address " + std::string(value));
    if (!addresses.emplace(*number, *address).second)
      return std::unexpected("the address of device " + std::string(device) +
                             " is set a second time");
    return {};
  }
};

}  // namespace

std::expected<SoftConfig, std::string> parse_soft_config(std::string_view text) {
  Parser parser;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    const Line done =
        equals == std::string_view::npos
            ? Line(std::unexpected("not a line of the form name = value"))
            : parser.set(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    if (!done) return std::unexpected("line " + std::to_string(number) + ": " + done.error());
  }
  SoftConfig config;
  config.vnis = parser.vnis;
  config.traffic_classes = parser.traffic_classes.value_or(kAllTrafficClasses);
  config.strict = parser.strict.value_or(false);
  config.fabric = parser.fabric;
  if (parser.devices) config.addresses.resize(*parser.devices);
  const auto count = static_cast<std::uint32_t>(config.addresses.size());
  for (std::uint32_t i = 0; i < count; ++i)
    config.addresses[i] = SoftConfig::kFirstAddress + i;
  for (const auto& [device, address] : parser.addresses) {
    if (device >= count)
      return std::unexpected("device " + std::to_string(device) +
                             " has an address, but there are " + std::to_string(count) +
                             " devices");
    config.addresses[device] = address;
  }
  std::vector<NicAddress> sorted = config.addresses;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    return std::unexpected(
        "two devices have the same address: devices without a setting count up from 0x100");
  return config;
}

}  // namespace plnet::cassini::soft
