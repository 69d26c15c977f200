"""A passkey's assertion, checked without the service, as its passkey-assertion.ts does (WebAuthn L3 section 7.2)."""

from __future__ import annotations

import hashlib
from typing import Any, Mapping, Optional
from urllib.parse import urlsplit

from ._json import parse_unambiguous
from ._strict import canonicalize, from_base64, signature_holds, to_base64url

#: COSE (RFC 9053) up to the first number, in the order of CTAP2: ES256, EdDSA, RS256.
ES256 = bytes.fromhex("a5010203262001215820")
EDDSA = bytes.fromhex("a4010103272006215820")
RS256 = bytes.fromhex("a40103033901002059")
Y_HEAD = bytes.fromhex("225820")
RSA_TAIL = bytes.fromhex("2143010001")


def usual_client_data(challenge: bytes, origin: str) -> str:
    """The client data as browsers usually write them (WebAuthn L3 section 5.8.1.1)."""
    asked, came_from = canonicalize(to_base64url(challenge)), canonicalize(origin)
    return f'{{"type":"webauthn.get","challenge":{asked},"origin":{came_from},"crossOrigin":false}}'


def failed_check(passkey: Mapping[str, Any], challenge: bytes, origin: str) -> Optional[str]:
    """The first check that failed; None when all hold. That the key is the approver's is not in it."""
    try:
        said = parse_unambiguous(passkey["client_data"])
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("type") != "webauthn.get":
        return "challenge"
    if said.get("challenge") != to_base64url(challenge):
        return "challenge"
    cross = said.get("crossOrigin")
    if said.get("origin") != origin or not (cross is None or cross is False) or "topOrigin" in said:
        return "origin"
    try:
        host = urlsplit(origin).hostname or ""
        data = from_base64(passkey["authenticator_data"], url=True)
    except ValueError:
        return "rp_id"
    if host == "" or len(data) < 37 or data[:32] != hashlib.sha256(host.encode()).digest():
        return "rp_id"
    if data[32] & 0x05 != 0x05:
        return "presence"
    message = data + hashlib.sha256(passkey["client_data"].encode()).digest()
    try:
        key, signature = (from_base64(passkey[name], url=True) for name in ("key", "signature"))
        return None if _is_signed(key, message, signature) else "assertion"
    except ValueError:
        return "assertion"


def _is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        if key.startswith(EDDSA):
            return signature_holds(key[len(EDDSA) :], message, signature)
        if key.startswith(ES256):
            x, head, y = key[10:42], key[42:45], key[45:]
            r, s = utils.decode_dss_signature(signature)
            # One spelling: strict DER, and a key of exactly these parts.
            if head != Y_HEAD or len(y) != 32 or utils.encode_dss_signature(r, s) != signature:
                return False
            point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + x + y)
            point.verify(signature, message, ec.ECDSA(SHA256()))
            return True
        if key.startswith(RS256) and key.endswith(RSA_TAIL):
            length, modulus = key[len(RS256) : len(RS256) + 2], key[len(RS256) + 2 : -len(RSA_TAIL)]
            if len(modulus) < 256 or int.from_bytes(length, "big") != len(modulus):
                return False
            number = rsa.RSAPublicNumbers(65537, int.from_bytes(modulus, "big")).public_key()
            number.verify(signature, message, padding.PKCS1v15(), SHA256())
            return True
    except (InvalidSignature, ValueError):
        return False
    return False
