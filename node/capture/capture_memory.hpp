// SPDX-License-Identifier: BSD-3-Clause
// Memory that a capture shares with its reader. The kernel holds the reader to it: rings can be
// mapped for reading only, and no file can be cut under the node, which would end it by SIGBUS.
#pragma once

#include <cstddef>
#include <span>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/trace/record/ring.hpp"

namespace plnet::node {

// A file without a name, mapped here, whose size is fixed.
class SharedFile {
 public:
  enum class Others : bool { kRead, kWrite };

  [[nodiscard]] static Outcome<SharedFile> create(const char* name, std::size_t bytes,
                                                  Others others);
  ~SharedFile();
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // A second descriptor of the same file, to hand over.
  [[nodiscard]] Outcome<runtime::Descriptor> descriptor() const;

 private:
  SharedFile(runtime::Descriptor file, std::span<std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}

  runtime::Descriptor file_;
  std::span<std::byte> bytes_;
};

class CaptureMemory {
 public:
  // `ring_bytes`: as RingWriter wants it.
  [[nodiscard]] static Outcome<CaptureMemory> create(unsigned shards, std::size_t ring_bytes);

  [[nodiscard]] std::span<std::byte> ring(unsigned shard) const;
  [[nodiscard]] const trace::RingWord* cursor(unsigned shard) const;
  [[nodiscard]] const SharedFile& rings() const { return rings_; }
  [[nodiscard]] const SharedFile& cursors() const { return cursors_; }

 private:
  CaptureMemory(SharedFile rings, SharedFile cursors, std::size_t ring_memory)
      : rings_(std::move(rings)), cursors_(std::move(cursors)), ring_memory_(ring_memory) {}

  SharedFile rings_;
  SharedFile cursors_;
  std::size_t ring_memory_;
};

}  // namespace plnet::node
