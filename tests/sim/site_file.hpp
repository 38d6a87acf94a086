// SPDX-License-Identifier: BSD-3-Clause
// Sites from files, for tests.
#pragma once

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "apps/lnet-sim/plan/site_reader.hpp"

namespace plnet::sim {

inline SiteConfig site_in(const std::string& path) {
  std::string text;
  if (std::FILE* const file = std::fopen(path.c_str(), "r"); file != nullptr) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
      text.push_back(static_cast<char>(c));
    (void)std::fclose(file);
  }
  auto site = read_site(text, path);
  EXPECT_TRUE(site.has_value()) << (site ? "" : site.error().text());
  return site ? *site : SiteConfig{};
}

}  // namespace plnet::sim
