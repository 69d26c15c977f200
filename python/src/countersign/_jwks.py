from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

from ._strict import canonicalize, from_base64, public_key_problem, to_base64url


@dataclass(frozen=True)
class Key:
    """Times in Unix seconds; `restores` are those of the key's service, as (copied, restored)."""

    kid: str
    purpose: str
    public_key: bytes
    not_before: int
    not_after: Optional[int]
    revoked_at: Optional[int]
    restores: Tuple[Tuple[int, int], ...]


def read_jwks(json: Any) -> List[Key]:
    """:raises ValueError: for a malformed, weak, private or repeated key, and a kid that is not the key's own thumbprint"""
    entries = json.get("keys") if isinstance(json, dict) else None
    if not isinstance(entries, list):
        raise ValueError('a key set is an object with an array "keys"')
    past = json.get("restores", [])
    if not isinstance(past, list):
        raise ValueError('"restores" is not an array')
    restores = tuple(_read_restore(entry, f"restores[{index}]") for index, entry in enumerate(past))
    read = [_read_key(entry, f"keys[{index}]", restores) for index, entry in enumerate(entries)]
    keys = [key for key in read if key is not None]
    if len({key.kid for key in keys}) != len(keys):
        raise ValueError("the key set repeats a kid")
    for key in keys:
        text = canonicalize({"crv": "Ed25519", "kty": "OKP", "x": to_base64url(key.public_key)})
        if key.kid != to_base64url(hashlib.sha256(text.encode()).digest()):
            raise ValueError(f"kid {key.kid} is not the RFC 7638 thumbprint of its key")
    return keys


def _read_restore(entry: Any, where: str) -> Tuple[int, int]:
    fields = entry if isinstance(entry, dict) else {}
    copied = _time(fields, "copied_at", where)
    restored = _time(fields, "restored_at", where)
    if copied is None or restored is None:
        raise ValueError(f"{where} is not two Unix times")
    return copied, restored


def _read_key(entry: Any, where: str, restores: Tuple[Tuple[int, int], ...]) -> Optional[Key]:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is not an object")
    if "d" in entry:
        raise ValueError(f"{where} contains a private key; replace that key at once")
    purpose, kid = entry.get("purpose"), entry.get("kid")
    if not isinstance(purpose, str):
        raise ValueError(f"{where}.purpose is missing")
    if purpose not in ("decision", "decision-sandbox"):
        return None
    wanted = {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA"}
    if any(entry.get(name) != value for name, value in wanted.items()):
        raise ValueError(f"{where} is not an Ed25519 signature key")
    if not isinstance(kid, str) or kid == "":
        raise ValueError(f"{where}.kid is missing")
    not_after = _time(entry, "exp", where)
    revoked_at = _time(entry, "revoked_at", where)
    not_before = _time(entry, "nbf", where)
    if not_before is None:
        raise ValueError(f"{where}.nbf is missing")
    try:
        public_key = from_base64(entry.get("x"), url=True)
    except ValueError as error:
        raise ValueError(f"{where}.x is not canonical base64url") from error
    problem = public_key_problem(public_key)
    if problem is not None:
        raise ValueError(f"{where}.x {problem}")
    return Key(kid, purpose, public_key, not_before, not_after, revoked_at, restores)


def _time(fields: Any, name: str, where: str) -> Optional[int]:
    if name not in fields:
        return None
    value = fields[name]
    whole = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 8.64e12
    if not whole or value != int(value):
        raise ValueError(f"{where}.{name} is not a Unix time in seconds")
    return int(value)
