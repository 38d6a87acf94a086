// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site_file.hpp"

#include <array>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/site_reader.hpp"

namespace plnet::sim {

namespace {

constexpr std::size_t kFileBytesMax = 1U << 20U;

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> block{};
  for (std::size_t got = 1; got > 0 && text.size() < kFileBytesMax;) {
    got = std::fread(block.data(), 1, block.size(), file);
    text.append(block.data(), got);
  }
  (void)std::fclose(file);
  return text;
}

std::optional<SiteConfig> load_site(const std::string& path, std::FILE* error) {
  const auto text = read_text_file(path);
  if (!text) {
    fmt::print(error, "lnet-sim: cannot read {}\n", path);
    return std::nullopt;
  }
  auto read = read_site(*text, path);
  if (read) return std::move(*read);
  fmt::print(error, "{}\n", read.error().text());
  return std::nullopt;
}

}  // namespace plnet::sim
