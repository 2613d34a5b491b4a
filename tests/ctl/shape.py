# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shapes of JSON values: types, tests, and documents made of them."""


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def optional(kind):
    return lambda value: value is None or matches(kind, value)


def matches(kind, value):
    """True if the value has the shape: a type, a test, [shape of all elements], {key: shape}."""
    if isinstance(kind, dict):
        return isinstance(value, dict) and set(value) == set(kind) and \
            all(matches(kind[k], value[k]) for k in kind)
    if isinstance(kind, list):
        return isinstance(value, list) and all(matches(kind[0], v) for v in value)
    if isinstance(kind, type):
        return type(value) is kind  # pylint: disable=unidiomatic-typecheck
    return kind(value)
