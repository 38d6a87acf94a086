# SPDX-License-Identifier: BSD-3-Clause
"""A part of tests/e2e/selftest_matrix.py: small and large, single and concurrent, all bytes checked."""
from selftest_matrix import WAYS, run_matrix

SIZES = ("8k", "1M")
CONCURRENCIES = (1, 8)


def case_directly(site):
    run_matrix(site, WAYS["directly"], SIZES, CONCURRENCIES, 1)


def case_through_a_router(site):
    run_matrix(site, WAYS["through a router"], SIZES, CONCURRENCIES, 1)
