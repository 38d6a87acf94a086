// SPDX-License-Identifier: BSD-3-Clause
// Users begin with the files in config/ and the reference page.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "node/net/kfi/settings.hpp"
#include "node/net/o2ib/settings.hpp"
#include "tests/mocks/whole_schema.hpp"

namespace plnet::runtime::sample_files_test {
namespace {

std::string contents_of(const std::string& name) {
  const std::string path = std::string(PLNET_SOURCE_ROOT "/") + name;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  EXPECT_NE(file, nullptr) << path;
  std::string text(1U << 16U, '\0');
  text.resize(file == nullptr ? 0 : std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

Settings read_sample(const std::string& name) {
  auto read = read_settings(contents_of(name), name);
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return read.value_or(Settings{});
}

const std::vector<node::KfiInterface>& nics_of(const Settings& settings) {
  return settings.sections.of<node::KfiSettings>().interfaces;
}

TEST(SampleFiles, TheCommentedFileIsTheSchema) {
  EXPECT_EQ(contents_of("config/plnet.yaml"), render_default_file(whole_schema()));
}

// Each example replaces the empty list above it.
std::string with_examples(std::string_view file) {
  std::string text;
  bool example = false;
  for (const auto part : std::views::split(file, '\n')) {
    const std::string_view line(part.begin(), part.end());
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view rest = line.substr(indent);
    if (rest == "# For example:") {
      example = true;
      const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
      EXPECT_TRUE(text.ends_with(": []\n")) << text.substr(last);
      text.resize(last);
    } else if (example && rest.starts_with('#')) {
      text.append(line.substr(0, indent)).append(rest.substr(1)) += '\n';
    } else {
      example = false;
      text.append(line) += '\n';
    }
  }
  return text;
}

TEST(SampleFiles, TheRulesOfTheCommentedFileAreValidWithoutTheirHashes) {
  const std::string text = with_examples(render_default_file(whole_schema()));
  const std::size_t begin = text.find("\nfault:\n");
  const std::size_t end = text.find("\n# Settings of plnet alone.");
  ASSERT_LT(begin, end);
  const auto read = read_settings(text.substr(begin, end - begin), "rules");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->lnet.faults.size(), 1U);
  EXPECT_EQ(read->lnet.access.size(), 1U);
}

TEST(SampleFiles, TheReferencePageHasTheTableOfTheSchema) {
  EXPECT_NE(contents_of("doc/configuration.md").find(render_reference(whole_schema())),
            std::string::npos)
      << "put the output of lnet-router --print-reference into doc/configuration.md";
}

TEST(SampleFiles, AreValidAndMatchTheirComments) {
  const Settings by_hand = read_sample("config/cpt-list.yaml");
  ASSERT_EQ(by_hand.cpts.list.size(), 2U);
  EXPECT_EQ(by_hand.cpts.list[0].shards.size(), 4U);
  EXPECT_EQ(by_hand.cpts.list[1].memory_node, 0);
  EXPECT_EQ(read_sample("config/kernel-pattern.yaml").cpts.by, CptPlanRequest::By::kPattern);
  EXPECT_TRUE(read_sample("config/laptop.yaml").exchange.enable);
  const Settings slingshot = read_sample("config/slingshot.yaml");
  ASSERT_EQ(nics_of(slingshot).size(), 1U);
  EXPECT_EQ(nics_of(slingshot)[0].backend, node::KfiBackend::kLibcxi);
  EXPECT_TRUE(slingshot.lnet.routing);
  const Settings any_nic = read_sample("config/kfi-any-nic.yaml");
  ASSERT_EQ(nics_of(any_nic).size(), 1U);
  EXPECT_EQ(nics_of(any_nic)[0].backend, node::KfiBackend::kSoft);
  EXPECT_EQ(nics_of(any_nic)[0].address, 418);
  const Settings shm = read_sample("config/kfi-shm.yaml");
  ASSERT_EQ(nics_of(shm).size(), 1U);
  EXPECT_EQ(nics_of(shm)[0].backend, node::KfiBackend::kOfi);
  EXPECT_EQ(nics_of(shm)[0].provider, "shm");
  const Settings infiniband = read_sample("config/infiniband.yaml");
  EXPECT_TRUE(infiniband.lnet.routing);
  EXPECT_EQ(infiniband.sections.of<node::O2ibSettings>().connections, 4096U);
  EXPECT_EQ(read_sample("config/roce.yaml").lnet.nets.size(), 2U);
}

}  // namespace
}  // namespace plnet::runtime::sample_files_test
