// SPDX-License-Identifier: BSD-3-Clause
// Directories like /sys of a machine with RDMA devices.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace plnet::node {

class FakeSysfs {
 public:
  FakeSysfs() {
    static unsigned number = 0;
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("plnet-sysfs-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
  }
  ~FakeSysfs() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;

  [[nodiscard]] std::string root() const { return root_; }
  void write(const std::string& path, const std::string& line) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << '\n';
  }
  void add_port(const std::string& device, const std::string& port, const std::string& layer,
                const std::string& rate) const {
    const std::string at = "class/infiniband/" + device + "/ports/" + port + "/";
    write(at + "link_layer", layer);
    write(at + "state", "4: ACTIVE");
    write(at + "rate", rate);
  }
  // An interface of the device's function.
  void add_interface(const std::string& device, const std::string& name,
                     const std::string& dev_port) const {
    write("class/infiniband/" + device + "/device/net/" + name + "/ifindex", "1");
    write("class/net/" + name + "/dev_port", dev_port);
    write("class/net/" + name + "/dev_id", "0x0");
  }
  // RoCE in software on an Ethernet interface.
  void add_rxe(const std::string& device, const std::string& interface) const {
    add_port(device, "1", "Ethernet", "2.5 Gb/sec (1X SDR)");
    write("class/infiniband/" + device + "/parent", interface);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace plnet::node
