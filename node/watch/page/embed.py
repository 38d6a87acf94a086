#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a C++ source with the files of the status page as texts: page.html becomes kPageHtml."""
import pathlib
import sys

BYTES_MAX = 60 << 10  # of all files: the page is read over slow lines, too

texts = {pathlib.Path(name): pathlib.Path(name).read_text() for name in sys.argv[1:]}
size = sum(len(text.encode()) for text in texts.values())
if size > BYTES_MAX:
    sys.exit(f"the status page has {size} bytes, more than {BYTES_MAX}")
print('#include "node/watch/page/page_files.hpp"\n\nnamespace plnet::node {\n')
for path, text in texts.items():
    name = "k" + "".join(word.capitalize() for word in path.name.split("."))
    assert ')page"' not in text, path
    print(f'const std::string_view {name} = R"page({text})page";\n')
print("}  // namespace plnet::node")
