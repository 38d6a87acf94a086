# SPDX-License-Identifier: BSD-3-Clause
"""Names of metrics in PromQL, and those that nodes serve."""
import re


def served(*exports):
    """The names of all series in these texts of `metrics show`."""
    return set(re.findall(r"^(plnet_\w+)[{ ]", "".join(exports), re.M))


def recorded(rules):
    """The names that a file of rules records."""
    return set(re.findall(r"^ *- record: (\S+)", rules, re.M))


def unknown(text, known, records):
    """The metrics in these queries that are neither served nor recorded. A name in quotes is a regular expression and must match one of them."""
    plain = re.sub(r'"[^"]*"', '""', text)
    names = set(re.findall(r"(?<![:\w])plnet_\w+\b(?!:)", plain)) - known
    patterns = {pattern for pattern in re.findall(r'"(plnet_[^"]*)"', text) if not any(re.fullmatch(pattern, name) for name in known)}
    return names | patterns | set(re.findall(r"\w+:plnet_\w+:\w+", plain)) - records
