"""Check what was read from a file: strict JSON, and the types, keys and numbers that it holds."""

from __future__ import annotations

import json
import math
import reprlib
import sys
from typing import Any

ANY = object()    # whatever JSON can hold
WORDS = {None: "empty", bool: "true or false", int: "a whole number", float: "a number",
         str: "text", list: "a list", dict: "a table"}


def read_json(text: str | bytes, name: str) -> Any:
    """Return what a JSON text says.

    ``ValueError``, which begins with ``name``, refuses what is no JSON, a key that is given twice,
    NaN, and brackets that are nested too deep.
    """
    def once(pairs):
        entries = dict(pairs)
        if len(entries) < len(pairs):
            raise ValueError("a key is given twice")
        return entries

    def constant(word):
        raise ValueError(f"{word} is not a number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except RecursionError:
        fault = "its brackets are nested too deep"
    except (TypeError, ValueError) as error:
        fault = str(error)
    raise ValueError(f"{name} is not valid JSON: {fault}.")


def check(value: Any, schema: Any, name: str) -> None:
    """Raise ValueError, which says where, unless a value has the form that a schema gives.

    ``name`` is that of the value; without one, the keys of a dictionary are named alone.

    A schema is a type (``float`` takes whole numbers too, but nothing infinite and no NaN), a
    constant, ``[schema]`` for a list of any length, ``{key: schema}`` for a dictionary, a tuple of
    alternatives, or :data:`ANY`.  A key may be missing where None is an alternative; the key
    ``str`` stands for all others.
    """
    alternatives = schema if isinstance(schema, tuple) else (schema,)
    for form in alternatives:
        if isinstance(form, list) and isinstance(value, list):
            for index, entry in enumerate(value):
                check(entry, form[0], f"{name}[{index}]")
            return
        if isinstance(form, dict) and isinstance(value, dict):
            _check_keys(value, form, name)
            return
        if form is ANY:
            _check_any(value, name)
            return
        if _fits(value, form):
            return
    if isinstance(value, float) and not math.isfinite(value) and float in alternatives:
        raise ValueError(f"{name} = {value!r} is not finite")
    wanted = " or ".join(map(_word, alternatives))
    raise ValueError(f"{name} = {brief(value)} is not {wanted}")


def brief(value: Any) -> str:
    """Return a value as a message shows it: on one line, and never long."""
    return reprlib.repr(value)


def _fits(value, form):
    if form is None or isinstance(form, str):
        return value == form
    if not isinstance(form, type) or isinstance(value, bool) and form is not bool:
        return False
    if form is float:
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return isinstance(value, form)


def _check_keys(table, forms, name):
    for key in forms:
        optional = isinstance(forms[key], tuple) and None in forms[key]
        if key is not str and key not in table and not optional:
            raise ValueError(f"{name or 'it'} has no {key}")
    for key, value in table.items():
        if not isinstance(key, str):
            raise ValueError(f"{name or 'it'} has a key that is no text")
        if key not in forms and str not in forms:
            raise ValueError(f"{name or 'it'} holds {brief(key)}, which is none of "
                             f"{', '.join(forms)}")
        word = key if key in forms or len(key) < 30 and key.isidentifier() else brief(key)
        check(value, forms.get(key, forms.get(str)), f"{name}.{word}" if name else word)


def _check_any(value, name):
    stack = [value]
    while stack:
        entry = stack.pop()
        if isinstance(entry, dict):
            if not all(isinstance(key, str) for key in entry):
                raise ValueError(f"{name} has a key that is no text")
            stack += entry.values()
        elif isinstance(entry, list):
            stack += entry
        else:
            check(entry, (None, bool, float, str), name)


def _word(form):
    kind = form if form is None or isinstance(form, type) else type(form)
    return WORDS.get(kind, repr(form)) if not isinstance(form, str) else repr(form)
