// SPDX-License-Identifier: BSD-3-Clause
// Capture files for tests: a file is read completely and its records are kept.
#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/trace/file/capture_reader.hpp"
#include "lib/trace/file/capture_source.hpp"
#include "tests/mocks/tcp_capture.hpp"

namespace plnet::trace::capture_files {

struct Kept : RecordSink {
  struct One {
    Record record;
    lnet::Nid interface;
    std::vector<std::byte> payload;
  };
  std::deque<One> all;

  void on_record(const Record& record, const lnet::Nid& interface) override {
    One& one =
        all.emplace_back(One{record, interface, {record.payload.begin(), record.payload.end()}});
    one.record.payload = one.payload;
  }
};

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A broken file gives no records and a failed expectation.
inline void read(std::string_view file, Kept& kept, CaptureSource::Options options = {}) {
  CaptureReader reader;
  CaptureSource source(kept, std::move(options));
  std::span bytes = std::as_bytes(std::span(file));
  CaptureReader::Step step{};
  while ((step = reader.next(bytes)) == CaptureReader::Step::kPacket)
    source.add(reader.packet());
  source.finish();
  EXPECT_EQ(step, CaptureReader::Step::kMore) << reader.error();
  EXPECT_TRUE(bytes.empty());
}

inline std::optional<std::string> shared(const char* name) {
  std::ifstream file(mocks::shared_capture(name), std::ios::binary);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace plnet::trace::capture_files
