"""What is refused before anything is sent, and what is sent; without a service."""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import logging
import math
import pathlib
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple

import countersign
from countersign import Approved, Attachment, Countersign, HttpAnswer, HttpCall, Invalid, Unreachable
from countersign._json import parse_json

VECTORS = pathlib.Path(__file__).parents[2] / "test" / "vectors"
KEY = "sa_live_secret"


def unsent() -> Tuple[Countersign, List[HttpCall]]:
    """A client that no call leaves."""
    calls: List[HttpCall] = []

    def transport(call: HttpCall) -> HttpAnswer:
        calls.append(call)
        raise OSError("no network")

    url = "https://approvals.example.com/"
    return Countersign(url, KEY, transport=transport, unreachable_after_seconds=0), calls


def decoded(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else base64.b64decode(text)


class Money(enum.IntEnum):
    one = 1


circle: List[Any] = []
circle.append(circle)

WRONG: List[Tuple[str, object, str]] = [
    ("NaN", math.nan, r"^Not done: JSON cannot hold the request\.context\.x \(float\)\.$"),
    ("infinity", {"deep": [1, math.inf]}, r"context\.x\.deep\[1\] \(float\)"),
    ("an integer beyond 2^53", 2**53, r"x \(int\)"),
    ("a name that is no text", {1: "one"}, r"x \(dict\)"),
    ("a date", datetime.date(2026, 1, 1), r"x \(date\)"),
    ("a decimal", decimal.Decimal("1.1"), r"x \(Decimal\)"),
    ("bytes", b"x", r"x \(bytes\)"),
    ("a set", {1}, r"x \(set\)"),
    ("an enumeration", Money.one, r"x \(Money\)"),
    ("a function", print, r"x \(builtin_function_or_method\)"),
    ("a complex number", 1j, r"x \(complex\)"),
    ("a circle", circle, r"x(\[0\])+ \(list\)"),
]


class Input(unittest.TestCase):
    def test_what_json_cannot_hold_is_refused_with_its_place(self) -> None:
        for name, x, sentence in WRONG:
            with self.subTest(name):
                client, calls = unsent()
                with self.assertRaisesRegex(Invalid, sentence):
                    client.ask("Pay", {"x": x}, for_=("r", "c"))

                def run(given: object) -> None:
                    raise AssertionError("ran")

                with self.assertRaises(Invalid):
                    client.guard(run, action="Pay", for_=("r", "c"))(x)
                self.assertEqual(calls, [])

    def test_wrong_calls_are_invalid_and_nothing_is_sent(self) -> None:
        def guarded(**wrong: Any) -> Callable[[Countersign], Any]:
            return lambda cs: cs.guard(lambda x: x, **{"action": "Pay", "for_": ("r", "c"), **wrong})

        def asked(**wrong: Any) -> Callable[[Countersign], Any]:
            return lambda cs: cs.ask(**{"action": "Pay", "for_": ("r", "c"), **wrong})

        async def later() -> None:
            pass

        table: List[Tuple[str, Callable[[Countersign], Any]]] = [
            *((f"for_: {names!r}", asked(for_=names)) for names in (None, "run", ("r",), ("r", "c", "x"), ("r", ""), ("r", 1))),
            ("an empty action", asked(action="")),
            ("a context that is a list", asked(context=[1])),
            ("a context that is a text", asked(context="all")),
            ("attachments that are no list", asked(attachments="config.yaml")),
            ("an attachment that is a dict", asked(attachments=[{"name": "a", "text": ""}])),
            ("an attachment without content", asked(attachments=[Attachment("a")])),
            ("an attachment of two contents", asked(attachments=[Attachment("a", "", b"")])),
            ("an attachment of bytes as text", asked(attachments=[Attachment("a", b"")])),  # type: ignore[arg-type]
            ("attachments among the fields", asked(fields={"attachments": []})),
            ("a guard whose attachments are no function", guarded(attachments=[])),
            ("a time that is no number", asked(within_seconds=math.nan)),
            ("a negative time", asked(within_seconds=-1)),
            ("a time in words", asked(within_seconds="soon")),
            ("a handle that is none", lambda cs: cs.resume("https://approvals.example.com/a/req_x")),
            ("a guard without an action", guarded(action=None)),
            ("a guard for a text", guarded(for_="run")),
            ("a guard for one name", guarded(for_=("r",))),
            ("words that name no parameter", guarded(action="Pay {y}")),
            ("words by position", guarded(action="Pay {}")),
            ("words that cannot be read", guarded(action="Pay {x")),
            ("a guard of no function", lambda cs: cs.guard("x", action="Pay", for_=("r", "c"))),  # type: ignore[type-var]
            ("a function without readable parameters", lambda cs: cs.guard(int, action="Pay", for_=("r", "c"))),
            ("an async function", lambda cs: cs.guard(later, action="Pay", for_=("r", "c"))),
            ("a tool without names", lambda cs: cs.tool("pay", print, for_=None)),  # type: ignore[arg-type]
            ("an operation without its path", lambda cs: cs.call("GET /api/v1/approvals/{id}")),
        ]
        for name, call in table:
            with self.subTest(name):
                client, calls = unsent()
                with self.assertRaises(Invalid):
                    call(client)
                self.assertEqual(calls, [])

    def test_addresses_and_keys_that_cannot_be_one(self) -> None:
        good: Dict[str, Any] = {"url": "https://approvals.example.com", "key": KEY}
        for wrong in (
            {"url": ""},
            {"url": "https://a:b@approvals.example.com"},
            {"url": "file:///etc"},
            {"key": ""},
            {"key": None},
            {"key": f"{KEY}\n"},
        ):
            with self.subTest(wrong), self.assertRaises(Invalid) as caught:
                Countersign(**{**good, **wrong})
            self.assertNotIn(KEY, str(caught.exception))

    def test_an_outcome_is_neither_true_nor_false(self) -> None:
        for outcome in (
            countersign.WasRejected("req_1", None),
            Approved("req_1", "Pay", {}, {}, lambda within, attachments: None),
        ):
            with self.assertRaises(TypeError):
                bool(outcome)

    def test_asks_as_the_client_in_typescript_does(self) -> None:
        questions = parse_json((VECTORS / "idempotency" / "questions.json").read_text("utf-8"))
        self.assertGreaterEqual(len(questions), 44)
        for one in questions:
            with self.subTest(one["about"]):
                client, calls = unsent()
                given = [
                    Attachment(of["name"], of.get("text"), decoded(of.get("base64")), of.get("base"), of.get("type"))
                    for of in one.get("attachments", [])
                ]
                with self.assertRaises(Unreachable):
                    client.ask(one["action"], one["context"], for_=tuple(one["for"]), attachments=given)
                self.assertEqual(calls[0].headers["idempotency-key"], one["key"])

    def test_the_key_is_in_no_text(self) -> None:
        client, calls = unsent()
        with self.assertLogs(level=logging.DEBUG) as logs:
            logging.debug("start")
            with self.assertRaises(Unreachable) as caught:
                client.ask("Pay", for_=("r", "c"))
        texts = [repr(client), repr(vars(client)), repr(calls), repr(caught.exception.__cause__)]
        self.assertNotIn(KEY, " ".join([*texts, *logs.output, str(caught.exception)]))
        self.assertEqual(calls[0].headers["authorization"], f"Bearer {KEY}")


class Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        server.seen.append(self.path)
        if self.path.startswith("/away"):
            self.send_response(308)
            self.send_header("location", "/elsewhere")
            self.end_headers()
            return
        # An answer that trickles: each byte is in time, and the whole never is.
        self.send_response(200)
        self.end_headers()
        try:
            while not server.over.wait(0.05):
                self.wfile.write(b" ")
        except OSError:
            pass

    def log_message(self, format: str, *args: object) -> None:
        pass


class OverHttp(unittest.TestCase):
    def setUp(self) -> None:
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        server.seen, server.over = [], threading.Event()
        self.server = server
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.over.set)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def test_follows_no_redirect_with_its_key(self) -> None:
        with self.assertRaisesRegex(Unreachable, r"cannot be reached \(308\)"):
            Countersign(f"{self.url}/away", KEY).ask("Pay", for_=("r", "c"))
        self.assertEqual(self.server.seen, ["/away/api/v1/approvals/request?wait=25"])

    def test_ends_an_answer_that_trickles(self) -> None:
        with self.assertRaisesRegex(Unreachable, "no answer"):
            Countersign(self.url, KEY).ask("Pay", for_=("r", "c"), within_seconds=0)
