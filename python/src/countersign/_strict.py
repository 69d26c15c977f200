"""JSON as it is signed: the rules of the service's canonical.ts, base64.ts and ed25519-web.ts."""

from __future__ import annotations

import base64
import functools
import math
from typing import Any, List, Optional, Tuple

from ._json import LONE_SURROGATE, MAX_DEPTH, canonical, parse_json

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

Point = Tuple[int, int, int, int]


def canonicalize(value: object) -> str:
    """RFC 8785 text. :raises ValueError: for everything JSON cannot express exactly"""
    _check(value, 0)
    return canonical(value)


def _check(value: object, depth: int) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if LONE_SURROGATE.search(value):
            raise ValueError("text contains a lone surrogate")
    elif isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no JSON form")
    elif depth >= MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError("a name must be a text")
            _check(name, depth)
            _check(item, depth + 1)
    else:
        raise ValueError(f"a {type(value).__name__} has no JSON form")


def parse_canonical(text: str) -> Any:
    """
    The value of a text that is exactly its RFC 8785 form, so that one statement has only one spelling.

    :raises ValueError: for any other text
    """
    value = parse_json(text)
    if canonicalize(value) != text:
        raise ValueError("not in canonical form")
    return value


def is_text(value: object) -> bool:
    return isinstance(value, str) and not LONE_SURROGATE.search(value)


def same(a: object, b: object) -> bool:
    """Equal as two values of JSON that are no lists or objects: true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    return a is None and b is None or (isinstance(a, str) and isinstance(b, str) and a == b)


def from_base64(text: object, url: bool = False) -> bytes:
    """Strict: a lenient decoder accepts many spellings of one signature. :raises ValueError:"""
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("not base64")
    padded = text + "=" * (-len(text) % 4) if url else text
    data = base64.b64decode(padded, b"-_" if url else None, validate=True)
    encoded = base64.urlsafe_b64encode(data).rstrip(b"=") if url else base64.b64encode(data)
    if encoded.decode() != text:
        raise ValueError("base64 is not in canonical form")
    return data


def to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signature_holds(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """
    Strict Ed25519: one spelling of the key and of S, no point of small order, and the equation without cofactor, which OpenSSL
    checks by comparing R's bytes.

    :raises ImportError: without `cryptography`
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(public_key) != 32 or len(signature) != 64:
        return False
    if int.from_bytes(signature[32:], "little") >= L or _has_small_y(signature[:32]):
        return False
    point = _decode(public_key)
    if point is None or _has_small_y(public_key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


@functools.lru_cache(maxsize=100)
def public_key_problem(public_key: bytes) -> Optional[str]:
    """Why these bytes are no trustworthy key; None when they are one. For use when loading keys."""
    if len(public_key) != 32:
        return "must have 32 bytes"
    if _has_small_y(public_key):
        return "is a point of small order"
    point = _decode(public_key)
    if point is None:
        return "is not a point of the curve"
    x, y, z, _ = _multiply(L, point)
    return None if x % P == 0 and (y - z) % P == 0 else "lies outside the prime-order group"


def _has_small_y(data: bytes) -> bool:
    """A point of small order in any spelling: under such a key, one signature can verify for every message."""
    y = int.from_bytes(data, "little") & (2**255 - 1)
    return y in _SMALL_ORDER


_SMALL_ORDER: List[int] = [
    0,
    1,
    int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
    int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"),
    P - 1,
    P,
    P + 1,
]


def _decode(data: bytes) -> Optional[Point]:
    """RFC 8032 section 5.1.3; None for what is no point, or another spelling of one."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (v * x * x - u) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _multiply(scalar: int, point: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result
