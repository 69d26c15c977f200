"""Judges approval tokens with PyJWT, as a gateway does (docs/receipts.md): cases as JSON on stdin, the verdicts on stdout."""

import json
import sys

import jwt


def judge(case: dict) -> str:
    try:
        header = jwt.get_unverified_header(case["token"])
        if header.get("typ") != "human-approval+jwt":
            return "refused"
        key = next(key for key in case["keys"] if key["kid"] == header.get("kid") and key["purpose"] == "token")
        claims = jwt.decode(
            case["token"],
            jwt.PyJWK(key),
            algorithms=["EdDSA"],
            issuer=case["iss"],
            audience=case["aud"],
            options={"require": ["iss", "aud", "sub", "jti", "iat", "exp"], "strict_aud": True},
        )
        return f"{claims['jti']} {claims['intent_sha256']}"
    except (jwt.PyJWTError, StopIteration):
        return "refused"


json.dump([judge(case) for case in json.load(sys.stdin)], sys.stdout)
