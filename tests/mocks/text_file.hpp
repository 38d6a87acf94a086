// SPDX-License-Identifier: BSD-3-Clause
// A FILE with a string behind it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace plnet {

class TextFile {
 public:
  TextFile() : file_(::open_memstream(&text_, &size_)) {}
  ~TextFile() {
    std::fclose(file_);
    std::free(text_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }
  // Text since the last call.
  [[nodiscard]] std::string take() {
    const std::string all = text();
    return all.substr(std::exchange(taken_, all.size()));
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::size_t taken_ = 0;
  std::FILE* file_;
};

}  // namespace plnet
