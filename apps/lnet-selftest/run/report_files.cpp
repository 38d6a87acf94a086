// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/report_files.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/report_hosts.hpp"

namespace plnet::run {
namespace {

constexpr int kIndent = 1;

Outcome<void> write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path beside = path.string() + ".part";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(beside, path, error);
  if (!file || error) {
    return failure(Errc::kIo, fmt::format("cannot write '{}': {}", path.string(),
                                          error ? error.message() : "is there room for it?"));
  }
  return {};
}

}  // namespace

Outcome<std::string> read_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) {
    return failure(errc_of_errno(error.value()),
                   fmt::format("cannot read '{}': {}", path, error.message()));
  }
  if (size > kFileBytesMax) return failure(Errc::kTooBig, fmt::format("'{}' is too big", path));
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return failure(Errc::kIo, fmt::format("cannot read '{}'", path));
  return text;
}

Outcome<void> prepare_report(const std::string& folder) {
  const std::filesystem::path at(folder);
  std::error_code error;
  std::filesystem::create_directories(at, error);
  if (error) {
    return failure(errc_of_errno(error.value()),
                   fmt::format("cannot make '{}': {}", folder, error.message()));
  }
  const std::filesystem::path trial = at / "report.part";
  if (auto done = write_file(trial, "\n"); !done) return done;
  std::filesystem::remove(trial, error);
  return {};
}

Outcome<void> write_report(const Report& report, const std::string& folder) {
  const std::filesystem::path at(folder);
  if (auto done = prepare_report(folder); !done) return done;
  if (auto done = write_file(at / "report.json", dump_of(json_of(report), kIndent) + '\n'); !done)
    return done;
  if (auto done = write_file(at / "report.csv", csv_of(report)); !done) return done;
  const Report named = with_hosts(report);
  if (auto done = write_file(at / "report.html", html_of(named)); !done) return done;
  return write_file(at / "report.txt", text_of(named));
}

}  // namespace plnet::run
