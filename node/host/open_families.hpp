// SPDX-License-Identifier: BSD-3-Clause
// The families of a running node, each with its host: every row of the table, whether an NI uses it
// or not.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "node/host/network_family.hpp"

namespace plnet::node {

class OpenFamilies {
 public:
  // The machine outlives this object.
  [[nodiscard]] static Outcome<std::unique_ptr<OpenFamilies>> open(
      Families families, const runtime::Settings& settings, Machine& machine);
  // A host for each family.
  OpenFamilies(Families families, std::vector<std::unique_ptr<FamilyHost>> hosts)
      : families_(families), hosts_(std::move(hosts)) {}
  OpenFamilies(const OpenFamilies&) = delete;
  OpenFamilies& operator=(const OpenFamilies&) = delete;

  [[nodiscard]] Families families() const { return families_; }
  // In the order of the families.
  [[nodiscard]] std::span<const std::unique_ptr<FamilyHost>> hosts() const { return hosts_; }
  [[nodiscard]] FamilyHost& host_of(const NetworkFamily& family) const;
  // Null: there is no such family.
  [[nodiscard]] FamilyHost* host_of(std::string_view name) const;
  // Null: no family serves it.
  [[nodiscard]] FamilyHost* host_of(lnet::NetId net, const lnet::NiConfig& ni) const;

 private:
  const Families families_;
  std::vector<std::unique_ptr<FamilyHost>> hosts_;
};

}  // namespace plnet::node
