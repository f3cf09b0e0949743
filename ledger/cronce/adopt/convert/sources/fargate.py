"""Sizes of Fargate tasks. Pure."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError

_GIB = 1024
_SIZES: tuple[tuple[int, tuple[int, ...]], ...] = (
    (256, (512, 1 * _GIB, 2 * _GIB)),
    (512, tuple(n * _GIB for n in range(1, 5))),
    (1024, tuple(n * _GIB for n in range(2, 9))),
    (2048, tuple(n * _GIB for n in range(4, 17))),
    (4096, tuple(n * _GIB for n in range(8, 31))),
    (8192, tuple(n * _GIB for n in range(16, 61, 4))),
    (16384, tuple(n * _GIB for n in range(32, 121, 8))),
)
"""CPU units, and MiB of memory that they can have (ECS Developer Guide, "Fargate task definition parameters")."""


def size_on_fargate(cpu: float, memory: float) -> tuple[int, int]:
    """The smallest size with at least that many CPU units and MiB.

    Raises:
        InputInvalidError: Fargate has none.
    """
    for units, memories in _SIZES:
        fitting = [each for each in memories if each >= memory]
        if units >= cpu and fitting:
            return units, fitting[0]
    what = "resources"
    raise InputInvalidError(what, f"{cpu:g} CPU units, {memory:g} MiB", "at most 16384 CPU units, 122880 MiB")
