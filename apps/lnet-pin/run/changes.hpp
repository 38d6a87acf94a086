// SPDX-License-Identifier: BSD-3-Clause
// All changes of a sweep on a machine, recorded before they are made: however the program ends, the
// next start or `lnet-pin restore` undoes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

inline constexpr const char* kChangesFolder = "/run/plnet/pin";
inline constexpr std::size_t kChangesBytesMax = std::size_t{16} << 20U;

class Changes {
 public:
  // Takes the lock of the folder, which is created if missing. kBusy: another sweep holds it.
  // `root`: of /proc and /sys; "" except in tests.
  [[nodiscard]] static Outcome<std::unique_ptr<Changes>> open(const std::string& folder,
                                                              std::string root);

  // Writes text to a file of /proc or /sys. The error names the missing right.
  [[nodiscard]] Outcome<void> set(const std::string& path, std::string_view text);
  // Record objects before their creation: a network namespace, a folder for temporary files.
  [[nodiscard]] Outcome<void> note_namespace(const std::string& name);
  [[nodiscard]] Outcome<void> note_folder(const std::string& path);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // One line for each present change.
  [[nodiscard]] std::vector<std::string> list() const;
  // Undoes all changes, the last one first. Failed ones stay on record; the result has the reasons.
  [[nodiscard]] std::vector<std::string> restore();
  // The same for files of /proc and /sys only: before the next placement.
  [[nodiscard]] std::vector<std::string> restore_files();

 private:
  enum class Kind : std::uint8_t { kFile, kNamespace, kFolder };
  struct Entry {
    Kind kind;
    std::string name;
    std::string was;  // text of a file
  };

  Changes(std::string folder, std::string root)
      : folder_(std::move(folder)), root_(std::move(root)) {}
  [[nodiscard]] static std::string line_of(const Entry& entry);
  [[nodiscard]] Outcome<void> read();
  [[nodiscard]] Outcome<void> add(Entry entry);
  [[nodiscard]] Outcome<void> rewrite() const;
  [[nodiscard]] std::string undo(const Entry& entry) const;
  template <class Wanted>
  [[nodiscard]] std::vector<std::string> undo_all(Wanted wanted);
  [[nodiscard]] std::string record_path() const { return folder_ + "/changes.jsonl"; }

  std::string folder_;
  std::string root_;
  runtime::Descriptor lock_{};
  std::vector<Entry> entries_{};
};

// Writes the whole text at once, as files of /proc and /sys require.
[[nodiscard]] Outcome<void> write_setting(const std::string& path, std::string_view text);
[[nodiscard]] Outcome<std::string> read_setting(const std::string& path);

}  // namespace plnet::pin
