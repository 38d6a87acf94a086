// SPDX-License-Identifier: BSD-3-Clause
// The `events` of a site file. Their nodes and networks are named, and the names are resolved after
// the whole file has been read.
#pragma once

#include <vector>

#include "apps/lnet-sim/plan/site_config.hpp"
#include "apps/lnet-sim/yaml/key_reader.hpp"

namespace plnet::sim {

class EventReader {
 public:
  EventReader(KeyReader& keys, ConfigErrors& errors) : keys_(keys), errors_(errors) {}

  void read(const YamlNode& node);
  // Adds the events to the site, whose groups and networks are known.
  void finish(SiteConfig& site);

 private:
  struct NamedEvent {
    const YamlNode* at = nullptr;
    const YamlNode* node = nullptr;
    const YamlNode* net = nullptr;
    PlannedEvent plan;
  };

  KeyReader& keys_;
  ConfigErrors& errors_;
  std::vector<NamedEvent> events_;
};

}  // namespace plnet::sim
