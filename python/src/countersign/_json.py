"""JSON as the client in TypeScript writes it, so that both find each other's requests, and as receipts are signed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import Any, Dict, List, Mapping, Sequence, Union

from ._errors import Invalid

#: What JSON can hold, and what therefore can be asked about.
Json = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]

#: The largest integer that every reader of JSON reads as that number.
MOST = 2**53 - 1

#: Deeper than the service accepts (16 levels), or a value that contains itself.
MAX_DEPTH = 64

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def copy_json(value: object, at: str, depth: int = 0) -> Any:
    """
    Copies a value of JSON's forms: what is asked about, compared and run is this copy, so whoever still holds the original cannot
    change it in between.

    :param at: names the value in the error
    :raises Invalid: for what JSON would lose or turn into something else: NaN, an integer beyond 2^53, a name that is no text, a
        date, Decimal, bytes, a set, a class
    """
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int and -MOST <= value <= MOST:  # type: ignore[operator]
        return value
    if isinstance(value, float) and kind is float and math.isfinite(value):
        # JSON has no negative zero.
        return value + 0.0
    if depth < MAX_DEPTH:
        if isinstance(value, (list, tuple)) and kind in (list, tuple):
            return kind(copy_json(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(value))
        if isinstance(value, dict) and kind is dict and all(type(name) is str for name in value):
            return {name: copy_json(item, f"{at}.{name}", depth + 1) for name, item in value.items()}
    raise Invalid(f"JSON cannot hold {at} ({kind.__name__}).")


def canonical(value: object) -> str:
    """RFC 8785 text of a value that ``copy_json`` accepts."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (int, float)):
        return number(float(value))
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{quote(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def quote(text: str) -> str:
    """Two halves of a surrogate pair are one character, and a lone one is escaped, as in JavaScript."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    written = json.dumps(whole, ensure_ascii=False)
    return LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", written)


def number(value: float) -> str:
    """RFC 8785 section 3.2.2.3: the form of ECMAScript. Both languages write the fewest digits that read as the same number."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits times ten to this power.
    power = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < power <= 21:
        text = digits.ljust(power, "0")
        return sign + text[:power] + ("." + text[power:] if len(text) > power else "")
    if -6 < power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if power > 0 else '-'}{abs(power - 1)}"


def digest(value: object) -> str:
    """SHA-256 of the value's text, in base64url: 43 characters."""
    hashed = hashlib.sha256(canonical(value).encode("utf-8")).digest()
    return base64.urlsafe_b64encode(hashed).decode().rstrip("=")


def parse_json(text: Union[str, bytes]) -> Any:
    """Parses JSON with numbers as JavaScript reads them. :raises ValueError: for anything else, and a nesting too deep"""
    try:
        return json.loads(text, parse_int=_read_number, parse_float=_read_number, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def parse_unambiguous(text: str) -> Any:
    """Parses JSON that other programs also read. :raises ValueError: also when a member is named twice"""

    def once(pairs: List[Any]) -> Dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a member is named twice")
        return members

    try:
        return json.loads(
            text,
            parse_int=_read_number,
            parse_float=_read_number,
            parse_constant=_refuse,
            object_pairs_hook=once,
        )
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _read_number(text: str) -> Union[int, float]:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= MOST else value


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no JSON")
