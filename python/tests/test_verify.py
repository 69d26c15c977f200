from __future__ import annotations

import datetime
import importlib.util
import json
import pathlib
import unittest
from typing import Any, Dict

from countersign._receipt_error import RECEIPT_ERRORS
from countersign._strict import signature_holds
from countersign.verify import ValidReceipt, Verdict, verify_receipt

ROOT = pathlib.Path(__file__).parents[2]
VECTORS = ROOT / "test" / "vectors" / "receipts"


def vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text("utf-8"))


def facts(said: Verdict) -> Dict[str, Any]:
    if not isinstance(said, ValidReceipt):
        return {"verdict": said.verdict, "code": said.code, **({"field": said.field} if said.field else {})}
    return {
        "verdict": said.verdict,
        "request_id": said.request_id,
        "decision_id": said.decision_id,
        "approver": said.approver,
        "method": said.method,
        "decided_at": said.decided_at.isoformat().replace("+00:00", ".000Z"),
        "votes": said.votes,
        "cautions": list(said.cautions),
    }


@unittest.skipUnless(importlib.util.find_spec("cryptography"), "needs cryptography")
class Receipts(unittest.TestCase):
    maxDiff = None

    def test_gives_the_verdict_of_every_vector(self) -> None:
        key_sets = {one.pop("name"): one for one in vectors("key-sets.json")}
        every = vectors("receipts.json")
        self.assertGreaterEqual(len(every), 150)
        for one in every:
            expected = {**one["expected"]}
            now = datetime.datetime.fromisoformat(expected.pop("now").replace("Z", "+00:00"))
            wanted = {
                name: value
                for name, value in one.items()
                if name not in ("n", "about", "keys", "expected", "text", "receipt")
            }
            with self.subTest(one["about"], n=one["n"]):
                given = one["text"] if "text" in one else one["receipt"]
                said = verify_receipt(given, key_sets[one["keys"]], now=now, **expected)
                self.assertEqual(facts(said), wanted)

    def test_signatures_are_strict(self) -> None:
        groups = json.loads((ROOT / "test/vectors/wycheproof/ed25519_test.json").read_text())["testGroups"]
        for group in groups:
            for one in group["tests"]:
                key, message, signature = (
                    bytes.fromhex(text) for text in (group["publicKey"]["pk"], one["msg"], one["sig"])
                )
                with self.subTest(one["tcId"]):
                    self.assertEqual(signature_holds(key, message, signature), one["result"] == "valid")
        # Under a key of small order, one signature verifies for every message.
        identity = bytes([1] + [0] * 31)
        self.assertFalse(signature_holds(identity, b"any", identity + bytes(32)))

    def test_every_code_is_in_a_vector(self) -> None:
        codes = {one.get("code") for one in vectors("receipts.json")}
        # The verdict of its own that `unproven` is.
        self.assertEqual(set(RECEIPT_ERRORS) - codes, {"receipt_content_unproven"})

    def test_the_receipt_of_the_documents(self) -> None:
        receipt, keys = ((ROOT / "examples" / name).read_text("utf-8") for name in ("receipt.json", "jwks.json"))
        said = verify_receipt(receipt, keys)
        self.assertEqual(said.verdict, "approved")
        with self.assertRaises(TypeError):
            bool(said)

    def test_raises_for_key_sets_that_cannot_be_trusted(self) -> None:
        (pinned,) = (one for one in vectors("key-sets.json") if one["name"] == "pinned")
        key = pinned["keys"][0]
        for name, wrong in {
            "a page": "<html>",
            "no list": {"keys": {}},
            "no object": {"keys": [1]},
            "a private key": {"keys": [{**key, "d": "x"}]},
            "no purpose": {"keys": [{**key, "purpose": None}]},
            "another curve": {"keys": [{**key, "crv": "X25519"}]},
            "a key twice": {"keys": [key, key]},
            "a name of another key": {"keys": [{**key, "kid": "x"}]},
            "no beginning": {"keys": [{name: value for name, value in key.items() if name != "nbf"}]},
            "a beginning that is true": {"keys": [{**key, "nbf": True}]},
            "a point of small order": {"keys": [{**key, "x": "AQ" + "A" * 41}]},
            "a second spelling of a point": {"keys": [{**key, "x": "7" + "_" * 42}]},
            "no point": {"keys": [{**key, "x": "Ag" + "A" * 41}]},
            "base64 with left-over bits": {"keys": [{**key, "x": key["x"][:-1] + "_"}]},
            "restores that are no list": {**pinned, "restores": {}},
            "a restore without times": {**pinned, "restores": [{}]},
        }.items():
            with self.subTest(name), self.assertRaises(ValueError):
                verify_receipt("{}", wrong)
        with self.assertRaises(ValueError):
            verify_receipt("{}", pinned, now=datetime.datetime(2026, 1, 1))
        with self.assertRaises(ValueError):
            verify_receipt("{}", pinned, context={"x": float("nan")})
