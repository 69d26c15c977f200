from __future__ import annotations

import datetime
import importlib.util
import json
import pathlib
import unittest
from typing import Any

from countersign.bundle import GoodBundle, verify_bundle

VECTORS = pathlib.Path(__file__).parents[2] / "test" / "vectors" / "receipts" / "bundles.json"
ALL: Any = json.loads(VECTORS.read_text("utf-8"))


@unittest.skipUnless(importlib.util.find_spec("cryptography"), "needs cryptography")
class Bundles(unittest.TestCase):
    def test_gives_the_verdict_of_every_vector(self) -> None:
        self.assertGreaterEqual(len(ALL["cases"]), 50)
        for one in ALL["cases"]:
            base = ALL["bases"][one["base"]]
            old, new = one.get("replace", ("", ""))
            text = base["text"].replace(old, new, 1)
            with self.subTest(one["about"]):
                policy = one["policy"] if "policy" in one else base.get("policy")
                said = verify_bundle(text, base["keys"], policy, **one.get("expected", {}))
                self.assertEqual(said.verdict, one["verdict"])
                if "check" in one:
                    outcome = "unmet" if said.verdict == "unmet" else "failed"
                    found = [check for check in said.checks if check.outcome in ("unmet", "failed")]
                    self.assertEqual(found[0], (one["check"], outcome))
                outcomes = one.get("outcomes", {})
                self.assertLessEqual(set(outcomes.items()), set(said.checks))
                if isinstance(said, GoodBundle):
                    self.assertEqual(said.by_passkeys, one.get("by_passkeys", said.by_passkeys))
                    self.assertEqual(list(said.witnesses), one.get("witnesses", list(said.witnesses)))
                    self.assertEqual(said.votes, one.get("votes", 1))

    def test_says_that_without_a_policy_nothing_tells_whose_log_it_is(self) -> None:
        base = ALL["bases"]["enrolled"]
        self.assertEqual(verify_bundle(base["text"], base["keys"]).checks[-1], ("checkpoint", "absent"))

    def test_catches_every_one_byte_change(self) -> None:
        base = ALL["bases"]["enrolled"]
        text = base["text"].encode()
        for at in range(0, len(text), 37):
            changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
            self.assertNotEqual(verify_bundle(changed, base["keys"], base["policy"]).verdict, "approved", at)

    def test_raises_for_what_cannot_be_trusted(self) -> None:
        base = ALL["bases"]["passkey"]
        for keys, policy in (("<html>", None), (base["keys"], "witness x"), (base["keys"], "quorum x"), (base["keys"], "")):
            with self.subTest(policy), self.assertRaises(ValueError):
                verify_bundle(base["text"], keys, policy)
        with self.assertRaises(ValueError):
            verify_bundle(base["text"], base["keys"], now=datetime.datetime(2026, 1, 1))
        with self.assertRaises(TypeError):
            bool(verify_bundle(base["text"], base["keys"]))
