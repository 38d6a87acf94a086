#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the hand-written documents: the length of paragraphs and of doc/performance.md, and the targets of links. List
items, table cells and texts without blank lines count as paragraphs. Code blocks are not checked."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS_MAX = 80  # of a paragraph
DOCUMENT_WORDS_MAX = {"doc/performance.md": 2500}  # figures belong in tables, narratives in commit
                                                   # messages
ITEM = re.compile(r"([-*+]|\d+\.)\s")
CELL_BORDER = re.compile(r"(?<!\\)\|")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ (.*)")


def words_of(text):
    return [word for word in re.split(r"[\s|]+", text) if re.search(r"\w", word)]


def without_code(text):
    """The lines of a document with their numbers; lines of code blocks are empty."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = line.lstrip().startswith("```")
        fenced ^= is_fence
        yield number, "" if fenced or is_fence else line.strip()


def paragraphs_of(text):
    """Yields (line, words) of each paragraph, list item and cell."""
    start, words = 0, []
    for number, line in without_code(text):
        is_row = line.startswith("|")
        if not line or is_row or HEADING.match(line) or ITEM.match(line):
            yield start, words
            start, words = number, []
        if is_row:
            yield from ((number, words_of(cell)) for cell in CELL_BORDER.split(line))
        elif line:
            start = start if words else number
            words = words + words_of(line)
    yield start, words


def anchors_of(text):
    """The anchors of headings as GitHub generates them."""
    headings = (HEADING.match(line) for _, line in without_code(text))
    return {re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-") for match in headings if match}


def broken_links_of(path, text):
    for number, line in without_code(text):
        for target in LINK.findall(line):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            other = path.parent / name if name else path
            if not other.exists():
                yield number, f"link to {target}: no such file"
            elif anchor and anchor not in anchors_of(other.read_text()):
                yield number, f"link to {target}: no such heading"


def complaints_of(path):
    name, text = path.relative_to(ROOT).as_posix(), path.read_text()
    for number, words in paragraphs_of(text):
        if len(words) > WORDS_MAX:
            yield f"{name}:{number}: {len(words)} words, a paragraph may have {WORDS_MAX}: write a list or several paragraphs"
    limit, words = DOCUMENT_WORDS_MAX.get(name), len(words_of(text))
    if limit and words > limit:
        yield f"{name}: {words} words, the limit is {limit}"
    for number, what in broken_links_of(path, text):
        yield f"{name}:{number}: {what}"


def main():
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "doc").glob("*.md"))]
    complaints = [complaint for path in documents for complaint in complaints_of(path)]
    print("\n".join(complaints) if complaints else f"{len(documents)} documents keep the rules")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
