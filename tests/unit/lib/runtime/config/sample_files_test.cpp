// SPDX-License-Identifier: BSD-3-Clause
// The files in config/ and the reference page are what users begin with.
#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "lib/runtime/config/schema_rendering.hpp"
#include "lib/runtime/config/settings_reader.hpp"

namespace plnet::runtime {
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

TEST(SampleFiles, TheCommentedFileIsTheSchema) {
  EXPECT_EQ(contents_of("config/plnet.yaml"), render_default_file());
}

TEST(SampleFiles, TheReferencePageHasTheTableOfTheSchema) {
  EXPECT_NE(contents_of("doc/configuration.md").find(render_reference()), std::string::npos)
      << "put the output of lnet-router --print-reference into doc/configuration.md";
}

TEST(SampleFiles, AreValidAndSayWhatTheyPromise) {
  const Settings by_hand = read_sample("config/cpt-list.yaml");
  ASSERT_EQ(by_hand.cpts.list.size(), 2U);
  EXPECT_EQ(by_hand.cpts.list[0].shards.size(), 4U);
  EXPECT_EQ(by_hand.cpts.list[1].memory_node, 0);
  EXPECT_EQ(read_sample("config/kernel-pattern.yaml").cpts.by, CptPlanRequest::By::kPattern);
  EXPECT_TRUE(read_sample("config/laptop.yaml").exchange.enable);
}

}  // namespace
}  // namespace plnet::runtime
