// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/family_facts.hpp"

#include <array>

#include "node/net/kfi/lab_nic.hpp"
#include "node/net/kfi/settings.hpp"
#include "node/net/kfi/verb_rows.hpp"
#include "node/net/o2ib/lab_nic.hpp"
#include "node/net/o2ib/settings.hpp"
#include "node/net/tcp/lab_nic.hpp"
#include "node/net/tcp/settings.hpp"

namespace plnet::node {
namespace {

// In the order of export and of the documentation.
constexpr std::array<const runtime::SettingsSection*, 3> kSections{
    &kTcpSection,
    &kKfiSection,
    &kO2ibSection,
};

constexpr std::array kVerbs{
    kKfiVerbs,
};

constexpr std::array<const LabNic*, 3> kLabNics{
    &kTcpLabNic,
    &kKfiLabNic,
    &kO2ibLabNic,
};

}  // namespace

std::span<const runtime::SettingsSection* const> family_sections() {
  return kSections;
}

std::span<const runtime::VerbRows> family_verbs() {
  return kVerbs;
}

std::span<const LabNic* const> family_lab_nics() {
  return kLabNics;
}

}  // namespace plnet::node
