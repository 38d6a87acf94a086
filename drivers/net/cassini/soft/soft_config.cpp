// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/soft_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

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

// In the order of cxi_rsrc_type, as cxi_service names them.
constexpr std::array<std::string_view, kResources> kLimitNames{"ptes", "txqs", "tgqs", "eqs",
                                                               "cts",  "les",  "tles", "acs"};

using Wrong = std::optional<std::string_view>;

Wrong take_vnis(std::string_view value, std::vector<std::uint16_t>& vnis) {
  return first_wrong_word(value, [&vnis](std::string_view word) {
    const auto vni = number_of(word);
    if (!vni || *vni == 0 || *vni > UINT16_MAX || vnis.size() == Limits{}.service_vnis)
      return false;
    vnis.push_back(static_cast<std::uint16_t>(*vni));
    return true;
  });
}

Wrong take_classes(std::string_view value, unsigned& classes) {
  classes = 0;
  return first_wrong_word(value, [&classes](std::string_view word) {
    const auto* const found = std::ranges::find(kClassNames, word);
    if (found == kClassNames.end()) return false;
    classes |= 1U << static_cast<unsigned>(found - kClassNames.begin());
    return true;
  });
}

Wrong take_members(std::string_view value, Member::Kind kind, Service& service) {
  service.restricts_members = true;
  return first_wrong_word(value, [&service, kind](std::string_view word) {
    const auto id = number_of(word);
    auto* const free = std::ranges::find(service.members, Member::Kind::kNone, &Member::kind);
    if (!id || free == service.members.end()) return false;
    *free = {kind, *id};
    return true;
  });
}

// Names and numbers by turns.
Wrong take_limits(std::string_view value, Service& service) {
  service.restricts_resources = true;
  Share* share = nullptr;
  auto wrong = first_wrong_word(value, [&](std::string_view word) {
    if (share == nullptr) {
      const auto* const found = std::ranges::find(kLimitNames, word);
      if (found == kLimitNames.end()) return false;
      share = &service.shares.at(static_cast<std::size_t>(found - kLimitNames.begin()));
      return true;
    }
    const auto most = number_of(word);
    if (!most || *most > UINT16_MAX) return false;
    share->most = *most;
    // Those of a service are all kept for it (cass_svc.c: reserve_rsrcs()).
    if (share == &service.shares[static_cast<unsigned>(Resource::kTriggered)]) share->kept = *most;
    share = nullptr;
    return true;
  });
  if (!wrong && share != nullptr) wrong = "a name at the end";
  return wrong;
}

struct Parser {
  std::optional<std::uint32_t> devices;
  std::map<std::uint32_t, NicAddress> addresses;
  bool joined = false;
  std::vector<std::uint16_t> vnis;
  std::map<std::uint32_t, Service> services;
  std::optional<unsigned> traffic_classes;
  std::optional<bool> strict;
  std::string fabric;
  std::string state;

  Line set(std::string_view name, std::string_view value) {
    constexpr std::string_view kAddress = "address.";
    constexpr std::string_view kService = "service.";
    if (name == "devices") return set_devices(value);
    if (name == "join") return set_join(value);
    if (name == "state") return set_state(value);
    if (name == "vnis") return set_vnis(value);
    if (name == "classes") return set_classes(value);
    if (name == "strict") return set_strict(value);
    if (name.starts_with(kService)) return set_service(name.substr(kService.size()), value);
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
  Line set_state(std::string_view value) {
    if (!state.empty()) return std::unexpected("state is set a second time");
    state = value;
    if (state.starts_with('/')) return {};
    return std::unexpected("state is a /DIRECTORY, not " + std::string(value));
  }
  Line set_vnis(std::string_view value) {
    if (!vnis.empty()) return std::unexpected("vnis stands here a second time");
    const Wrong wrong = take_vnis(value, vnis);
    if (!wrong) return {};
    return std::unexpected("vnis are one to four numbers from 1 to 65535, not " +
                           std::string(*wrong));
  }
  Line set_classes(std::string_view value) {
    if (traffic_classes) return std::unexpected("classes stands here a second time");
    traffic_classes = 0;
    const Wrong wrong = take_classes(value, *traffic_classes);
    if (!wrong) return {};
    return std::unexpected(
        "classes are dedicated_access, low_latency, bulk_data and best_effort, not " +
        std::string(*wrong));
  }
  // "2.vnis": a setting of service 2.
  Line set_service(std::string_view name, std::string_view value) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const auto number = number_of(name.substr(0, dot));
    if (!number || *number <= kDefaultService || *number > SoftConfig::kServicesMax)
      return std::unexpected("a service has a number from 2 to " +
                             std::to_string(SoftConfig::kServicesMax) + ", not " +
                             std::string(name.substr(0, dot)));
    Service& service =
        services.try_emplace(*number, Service{.id = *number, .vnis = {}}).first->second;
    const std::string_view setting = name.substr(std::min(dot + 1, name.size()));
    Wrong wrong = setting;
    if (setting == "vnis") wrong = take_vnis(value, service.vnis);
    if (setting == "users") wrong = take_members(value, Member::Kind::kUser, service);
    if (setting == "groups") wrong = take_members(value, Member::Kind::kGroup, service);
    if (setting == "classes") wrong = take_classes(value, service.traffic_classes);
    if (setting == "limits") wrong = take_limits(value, service);
    if (!wrong) return {};
    return std::unexpected("not a setting of a service: " + std::string(*wrong));
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

// A service has VNIs of its own.
Line add_service(SoftConfig& config, Service service) {
  if (service.vnis.empty()) return std::unexpected("it has no vnis");
  service.any_vni = false;
  for (const std::uint16_t vni : service.vnis) {
    const auto has = [vni](const Service& one) { return one.has_vni(vni); };
    if (std::ranges::count(service.vnis, vni) > 1 ||
        std::ranges::find(config.vnis, vni) != config.vnis.end() ||
        std::ranges::any_of(config.services, has))
      return std::unexpected("VNI " + std::to_string(vni) + " belongs to another service");
  }
  constexpr auto kTriggered = static_cast<unsigned>(Resource::kTriggered);
  unsigned kept = SoftConfig::kTriggeredKept + service.shares[kTriggered].kept;
  for (const Service& one : config.services)
    kept += one.shares[kTriggered].kept;
  if (kept > Limits{}.triggered)
    return std::unexpected("no " + std::to_string(service.shares[kTriggered].kept) +
                           " tles are left for it");
  config.services.push_back(std::move(service));
  return {};
}

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
  for (auto& [number, service] : parser.services) {
    if (const Line done = add_service(config, std::move(service)); !done)
      return std::unexpected("service " + std::to_string(number) + ": " + done.error());
  }
  config.traffic_classes = parser.traffic_classes.value_or(kAllTrafficClasses);
  config.strict = parser.strict.value_or(false);
  config.fabric = parser.fabric;
  config.state = parser.state;
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
