// SPDX-License-Identifier: BSD-3-Clause
// Flags common to all programs that run a node: its files, its control socket, its pollers.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.hpp"
#include "lib/runtime/config/settings.hpp"
#include "node/flags/flags.hpp"
#include "node/run/node.hpp"
#include "node/run/settings_files.hpp"

namespace plnet::node {

struct NodeLine {
  SettingsFiles files;
  std::optional<runtime::IdlePolicy> idle;
  std::optional<runtime::LogLevel> log_level;
  NodeOptions node;
};

// The settings of the files, overridden by the flags.
[[nodiscard]] Outcome<runtime::Settings> read_settings_of(const NodeLine& line);

class NodeFlags {
 public:
  // `app` is parsed after this and before read(), and outlives it.
  NodeFlags(CLI::App& app, std::string program, std::string instance);
  NodeFlags(const NodeFlags&) = delete;
  NodeFlags& operator=(const NodeFlags&) = delete;

  [[nodiscard]] Outcome<NodeLine> read() const;
  // The text of a flag that only prints, if one was given.
  [[nodiscard]] std::optional<EarlyEnd> informative() const;

 private:
  [[nodiscard]] Outcome<void> read_words(NodeLine& line) const;
  [[nodiscard]] Outcome<void> read_socket(NodeLine& line) const;

  // Unparsed.
  std::string program_;
  std::string config_;
  std::string options_;
  std::string networks_;
  std::string ip2nets_;
  bool print_config_ = false;
  bool print_reference_ = false;
  std::string idle_;
  std::string log_level_;
  std::string instance_;
  std::string socket_;
  std::string socket_mode_ = "0660";
  std::string socket_owner_;
  std::string socket_group_;
  std::string admin_group_;
  std::string nic_names_;
  std::string lock_dir_ = runtime::usual_claim_directory();
};

}  // namespace plnet::node
