// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/kernel/kernel_check.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace plnet::lnetdump {
namespace {

namespace fs = std::filesystem;

// The files of a kernel below a test folder.
class KernelCheck : public testing::Test {
 protected:
  KernelCheck() {
    std::string pattern = testing::TempDir() + "kernel.XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "proc");
    fs::create_directories(root_ / "sys/kernel/btf");
  }
  ~KernelCheck() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) const {
    std::ofstream(root_ / path) << text;
  }
  void load_lnet(const std::string& without = "") const {
    std::string symbols = "0000000000000000 T lnet_parse\t[other]\n";
    for (const std::string name : kProbedFunctions) {
      if (name != without) symbols += "0000000000000000 T " + name + "\t[lnet]\n";
    }
    write("proc/kallsyms", symbols);
  }
  [[nodiscard]] std::string refusal(const std::string& type_file = "") const {
    const auto checked = check_kernel(root_, type_file);
    return checked ? "" : checked.error().what;
  }

  fs::path root_;
};

TEST_F(KernelCheck, NamesMissingModule) {
  EXPECT_NE(refusal().find("modprobe lnet"), std::string::npos) << refusal();
  write("proc/kallsyms", "0000000000000000 T lnet_parse\t[other]\n");
  EXPECT_NE(refusal().find("modprobe lnet"), std::string::npos) << refusal();
}

TEST_F(KernelCheck, NamesMissingFunction) {
  load_lnet("lnet_ni_send");
  EXPECT_NE(refusal().find("no function lnet_ni_send;"), std::string::npos) << refusal();
}

TEST_F(KernelCheck, NamesMissingTypes) {
  load_lnet();
  EXPECT_NE(refusal().find("CONFIG_DEBUG_INFO_BTF"), std::string::npos) << refusal();
  write("sys/kernel/btf/vmlinux", "x");
  EXPECT_NE(refusal().find("--lnet-btf lnet.btf"), std::string::npos) << refusal();
  write("sys/kernel/btf/lnet", "x");
  EXPECT_EQ(refusal(), "");
}

TEST_F(KernelCheck, TakesTypesFromFile) {
  load_lnet();
  EXPECT_NE(refusal(root_ / "lnet.btf").find("cannot be read"), std::string::npos);
  write("lnet.btf", "x");
  EXPECT_EQ(refusal(root_ / "lnet.btf"), "");
}

}  // namespace
}  // namespace plnet::lnetdump
