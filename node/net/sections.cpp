// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/sections.hpp"

#include <array>

#include "node/net/kfi/settings.hpp"
#include "node/net/tcp/settings.hpp"

namespace plnet::node {
namespace {

// In the order of export and of the documentation.
constexpr std::array<const runtime::SettingsSection*, 2> kSections{
    &kTcpSection,
    &kKfiSection,
};

}  // namespace

std::span<const runtime::SettingsSection* const> family_sections() {
  return kSections;
}

}  // namespace plnet::node
