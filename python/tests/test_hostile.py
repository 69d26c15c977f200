from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from countersign import (
    Approved,
    Attachment,
    Countersign,
    Mismatch,
    Outcome,
    Pending,
    Refused,
    Rejected,
    Sandbox,
    Unreachable,
    Used,
    WasUsed,
    Withdrawn,
)

from .setting import CONSUME, CREATE, NETWORK, SERVICE, WAIT, Hostile, InThread, order

Run = Callable[..., Any]

INVOICE = {"number": "INV-1", "amount": "1834.15"}
BUSY = {
    "status": 429,
    "headers": {"retry-after": "0"},
    "body": '{"error":"rate limit exceeded","message":"Too many requests; wait 1 s.","retry_after":1}',
}
AWAY = {
    "status": 503,
    "headers": {"retry-after": "0"},
    "body": '{"error":"storage_unavailable","message":"The database does not answer."}',
}


def html(status: int) -> Dict[str, Any]:
    return {"status": status, "headers": {"content-type": "text/html"}, "body": f"<h1>{status} Bad Gateway</h1>"}


#: What runs in an agent of its own, which is then killed.
AGENT = """
import sys
from countersign import Countersign, CountersignError
def act():
    print("about to act", flush=True)
    if "hang" in sys.argv: sys.stdin.read()
cs = Countersign(sys.argv[1], sys.argv[2])
try:
    if "ask" in sys.argv: cs.ask("Act", {"arguments": []}, for_=("run", "call"))
    else: cs.guard(act, action="Act", for_=("run", "call"))()
except CountersignError as error:
    print(type(error).__name__, error.sentence)
"""


class Guarded(Hostile):
    def payment(
        self, call: str = "call-1", on_asked: Any = None, **options: Any
    ) -> Tuple[List[Any], Callable[[Dict[str, str]], int]]:
        paid: List[Any] = []

        def pay(invoice: Dict[str, str]) -> int:
            paid.append(invoice)
            return len(paid)

        return paid, self.client(**options).guard(
            pay, action="Pay {invoice[number]}", for_=("run-1", call), on_asked=on_asked
        )

    def test_survives_what_goes_wrong_with_every_call(self) -> None:
        table: List[Tuple[str, List[Any]]] = [
            ("lost answers", ["lose", "lose"]),
            ("cut answers", ["cut"]),
            ("429", [BUSY]),
            ("503", [AWAY]),
            ("a 502 of a proxy, as a page", [html(502), html(504)]),
            ("a page with 200, and a 404 of no service", [html(200), html(404)]),
        ]
        for name, mishaps in table:
            with self.subTest(name):
                self.setUp()
                for path in (CREATE, CONSUME):
                    self.spoil(path, *mishaps)
                paid, pay = self.payment()
                done = InThread(lambda: pay(INVOICE))
                self.decide(self.asked())
                self.assertEqual((done.result(), paid), (1, [INVOICE]))
                self.assertEqual(len(self.requests()), 1)
                self.assertEqual([call for call in order("seen") if "/wait?" in call["path"]], [])
                for word in ("/request", "/consume"):
                    calls = self.seen(word)
                    self.assertEqual(len(calls), 1 + len(mishaps))
                    self.assertEqual(len({(call["idempotencyKey"], call["body"]) for call in calls}), 1)

    def test_survives_all_of_it_in_a_wait_of_its_own(self) -> None:
        # The pauses double with each of them.
        mishaps = ["lose", "cut", html(502), BUSY, AWAY]
        self.spoil(WAIT, *mishaps)
        paid, pay = self.payment(on_asked=lambda asked: None)
        done = InThread(lambda: pay(INVOICE))
        self.decide(self.asked())
        self.assertEqual((done.result(), paid), (1, [INVOICE]))
        self.assertEqual(len(self.seen("/request")), 1)

    def test_a_service_that_ends_during_the_wait(self) -> None:
        for ending in ("SIGTERM", "SIGKILL"):
            with self.subTest(ending):
                self.setUp()
                paid, pay = self.payment()
                done = InThread(lambda: pay(INVOICE))
                id = self.asked()
                self.waiting()
                order("restart", signal=ending)
                self.decide(id)
                done.result()
                self.assertEqual(paid, [INVOICE])
                self.assertEqual(len(self.requests()), 1)

    def test_retry_after_and_a_quota(self) -> None:
        heard: List[Tuple[str, int]] = []
        self.spoil(CREATE, {**BUSY, "headers": {"retry-after": "2"}})
        started = time.monotonic()
        client = self.client(on_retry=lambda why, seconds: heard.append((why, seconds)))
        client.ask("Pay", for_=("r", "c"), within_seconds=3)
        self.assertGreaterEqual(time.monotonic() - started, 2)
        self.assertEqual(heard, [("429 rate limit exceeded", 2)])
        quota = '{"error":"quota_exceeded","message":"Used up.","retry_after":9}'
        self.spoil(CREATE, {"status": 429, "headers": {}, "body": quota})
        with self.assertRaises(Refused) as caught:
            self.client().ask("Pay", for_=("r", "d"))
        self.assertEqual(caught.exception.code, "quota_exceeded")
        self.assertIn("Used up.", caught.exception.sentence)

    def test_a_service_that_stays_away_is_unreachable(self) -> None:
        paid, pay = self.payment(unreachable_after_seconds=1)
        self.spoil(CREATE, *[html(502)] * 9)
        with self.assertRaises(Unreachable) as caught:
            pay(INVOICE)
        self.assertIsNone(caught.exception.id)
        order("calm")
        self.spoil(WAIT, *[html(502)] * 9)
        _, waits = self.payment(on_asked=lambda asked: None, unreachable_after_seconds=1)
        with self.assertRaises(Unreachable) as caught:
            waits(INVOICE)
        self.assertEqual(caught.exception.id, self.asked())
        self.assertTrue(
            caught.exception.sentence.startswith(
                "Not done: the approval service cannot be reached (502), which is no decision."
            )
        )
        order("calm")
        self.decide(self.asked())
        self.spoil(CONSUME, *[html(502)] * 9)
        with self.assertRaises(Unreachable):
            pay(INVOICE)
        self.assertEqual(paid, [])

    def test_uses_an_approval_once_although_the_answer_is_lost(self) -> None:
        self.spoil(CONSUME, *["lose"] * 9)
        done = InThread(lambda: self.client(unreachable_after_seconds=1).ask("Pay", for_=("r", "c")))
        self.decide(self.asked())
        outcome = done.result()
        assert isinstance(outcome, Approved)
        with self.assertRaises(Unreachable):
            outcome.use()
        order("calm")
        # Its own key gets the lost answer again; nobody else's does.
        self.assertTrue(outcome.use().decision_id.startswith("dec_"))
        with self.assertRaises(Used):
            outcome.use()
        self.assertIsInstance(self.client().resume(outcome.id), WasUsed)

    def test_ends_a_hanging_answer_at_its_deadline(self) -> None:
        self.spoil(CREATE, "never")
        with self.assertRaises(Unreachable):
            self.client().ask("Pay", for_=("r", "c"), within_seconds=0.2)

    def test_an_agent_that_is_killed_finds_its_request_and_acts_once(self) -> None:
        def agent(*more: str) -> "subprocess.Popen[str]":
            argv = [sys.executable, "-c", AGENT, NETWORK, self.key, *more]
            return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        first = agent("ask")
        id = self.asked()
        self.waiting()
        first.send_signal(signal.SIGKILL)
        first.communicate()
        self.decide(id)
        # Killed again between use and act: nobody acts any more.
        second = agent("hang")
        assert second.stdout is not None
        self.assertEqual(second.stdout.readline(), "about to act\n")
        second.kill()
        second.communicate()
        self.assertRegex(agent().communicate()[0], "^Used .*may have been done")
        self.assertEqual(len(self.requests()), 1)

    def test_many_at_once(self) -> None:
        paid, pay = self.payment()
        equal = [InThread(lambda: pay(INVOICE)) for _ in range(8)]
        self.decide(self.asked())
        self.assertEqual([type(one.error()) for one in equal].count(Used), 7)
        self.assertEqual(paid, [INVOICE])
        self.setUp()
        different = [
            InThread(lambda n=n: self.payment(f"call-{n}")[1]({**INVOICE, "number": f"INV-{n}"}))  # type: ignore[misc]
            for n in range(15)
        ]
        self.asked(15)
        for request in self.requests():
            self.decide(request["id"])
        self.assertEqual([one.result() for one in different], [1] * 15)

    def test_a_call_id_given_twice_asks_twice_when_the_arguments_differ(self) -> None:
        both = [
            InThread(lambda: self.payment()[1](INVOICE)),
            InThread(lambda: self.payment()[1]({**INVOICE, "amount": "9"})),
        ]
        self.asked(2)
        for request in self.requests():
            self.decide(request["id"])
        self.assertEqual([one.result() for one in both], [1, 1])

    def test_a_rejection_is_final_for_this_call(self) -> None:
        paid, pay = self.payment()
        done = InThread(lambda: pay(INVOICE))
        self.decide(self.asked(), "rejected", "Not this month.")
        for error in (done.error(), InThread(lambda: self.payment()[1](INVOICE)).error()):
            assert isinstance(error, Rejected)
            self.assertEqual(error.comment, "Not this month.")
            self.assertRegex(error.sentence, '"Not this month." *.*do not ask for it again')
        self.assertEqual(len(self.requests()), 1)
        other = self.client().ask("Pay INV-1", for_=("run-1", "call-2"), within_seconds=0)
        self.assertEqual((other.status, paid), ("pending", []))

    def test_pending_resumes_by_the_call_the_token_and_the_id(self) -> None:
        def ask(within: Optional[float] = None) -> Outcome:
            return self.client().ask("Pay", {"amount": 3}, for_=("r", "c"), within_seconds=within)

        pending = ask(1.2)
        assert pending.status == "pending"
        self.assertEqual(pending.review_url, f"{SERVICE}/a/{pending.id}")
        waits = [
            InThread(ask),
            InThread(lambda: self.client().resume(pending.resume)),
            InThread(lambda: self.client().resume(pending.id)),
        ]
        self.decide(pending.id)
        used = 0
        for wait in waits:
            outcome = wait.result()
            assert outcome.status == "approved"
            self.assertEqual(outcome.context, {"amount": 3})
            try:
                outcome.use()
                used += 1
            except Used:
                pass
        self.assertEqual(used, 1)

    def test_withdrawn_and_given_up(self) -> None:
        paid, pay = self.payment()
        done = InThread(lambda: pay(INVOICE))
        id = self.asked()
        self.client().call("POST /api/v1/approvals/{id}/cancel", path={"id": id})
        error = done.error()
        assert isinstance(error, Withdrawn)
        self.assertEqual((error.id, paid), (id, []))
        with self.assertRaises(Pending) as caught:
            self.client().guard(pay, action=lambda invoice: "Pay", for_=("r", "c"), within_seconds=0)(INVOICE)
        self.assertIn(f"{SERVICE}/a/{caught.exception.id};", caught.exception.sentence)

    def test_the_sandbox_counts_only_where_a_test_allows_it(self) -> None:
        self.key = order("key", sandbox=True)
        fields = {"sandbox_decision": "approved", "sandbox_auto_decide_seconds": 0}
        with self.assertRaises(Sandbox):
            self.client().ask("Pay", for_=("r", "c"), fields=fields)
        listed = self.client().call("GET /api/v1/approvals", query={"limit": 5})["data"]
        with self.assertRaises(Sandbox):
            self.client().resume(listed[0]["id"])
        outcome = self.client(allow_sandbox=True).ask("Pay", for_=("r", "c"), fields=fields)
        assert outcome.status == "approved"
        self.assertEqual(outcome.use().id, outcome.id)

    def test_a_request_of_another_key_or_another_content(self) -> None:
        pending = self.client().ask("Pay", for_=("r", "c"), within_seconds=0)
        other = self.client().ask("Pay more", for_=("r", "c"), within_seconds=0)
        assert pending.status == "pending" and other.status == "pending"
        stranger = Countersign(NETWORK, order("key", sandbox=False))
        with self.assertRaises(Refused) as caught:
            stranger.resume(pending.resume)
        self.assertEqual(caught.exception.code, "not_found")
        with self.assertRaises(Mismatch):
            self.client().resume(f"{pending.id}.{other.resume[-43:]}", within_seconds=0)
        mixed = '{"id":"%s","status":"approved","action":"Pay","context":{},"decision":{}}' % other.id
        self.spoil(WAIT, {"status": 200, "headers": {}, "body": mixed})
        with self.assertRaises(Unreachable):
            self.client().resume(pending.id)

    def test_runs_what_was_approved_although_the_caller_changes_it(self) -> None:
        given = {"amount": "1", "lines": ["a"]}
        paid: List[Any] = []

        def action(order: Dict[str, Any]) -> str:
            order["amount"] = "changed by action"
            return "Pay"

        pay: Run = self.client().guard(lambda order: paid.append(order), action=action, for_=("r", "c"))
        done = InThread(lambda: pay(given))
        id = self.asked()
        given["amount"] = "9999"
        self.decide(id)
        done.result()
        self.assertEqual(paid, [{"amount": "1", "lines": ["a"]}])

    def test_bound_arguments_are_one_question_however_they_are_passed(self) -> None:
        cs = self.client()

        @cs.requires_approval(
            action="Refund {amount} to {customer}", run="support run 17", call="{order}", within_seconds=0
        )
        def refund(order: str, amount: str = "19.90", *, customer: str) -> None:
            raise AssertionError("nobody approved")

        with self.assertRaises(Pending):
            refund("4711", customer="ACME\n")
        with self.assertRaises(Pending):
            refund(customer="ACME\n", order="4711")
        with self.assertRaises(Pending):
            refund("4711", "19.90", customer="ACME\n")
        with self.assertRaises(TypeError):
            refund("4711")  # type: ignore[call-arg]
        (request,) = self.requests()
        self.assertEqual(request["action"], "Refund 19.90 to ACME ")
        whole = cs.call("GET /api/v1/approvals/{id}", path={"id": request["id"]})
        self.assertEqual(whole["context"], {"arguments": ["4711", "19.90", {"customer": "ACME\n"}]})

    def test_a_tool_of_a_host_and_what_the_function_raises(self) -> None:
        seen: List[Any] = []

        def execute(given: Dict[str, str], host: Dict[str, Any]) -> None:
            seen.extend([given, host])
            raise RuntimeError("card declined")

        host = {"id": "call\n0", "not_json": object()}
        refund: Run = self.client().tool(
            "refund", execute, for_=lambda _, host: ("thread ünïcode 🙂 with spaces", host["id"])
        )
        done = InThread(lambda: refund({"customer": "a\u0007b"}, host))
        id = self.asked()
        self.assertEqual(self.requests()[0]["action"], 'refund {"customer":"a\\u0007b"}')
        self.decide(id)
        self.assertEqual(str(done.error()), "card declined")
        self.assertEqual(seen[0], {"customer": "a\u0007b"})
        self.assertIs(seen[1], host)
        with self.assertRaises(Used):
            refund({"customer": "a\u0007b"}, host)

    def test_asks_anew_for_arguments_that_its_context_does_not_show(self) -> None:
        def pay(amount: str) -> None:
            guarded: Run = self.client().guard(
                lambda to, amount: None,
                action="Pay {to}",
                context=lambda to, amount: {"to": to},
                for_=("r", "c"),
                within_seconds=0,
            )
            with self.assertRaises(Pending):
                guarded("ACME", amount)

        for amount in ("1", "1", "2"):
            pay(amount)
        self.assertEqual(len(self.requests()), 2)

    def test_attachments_are_compared_when_the_approval_is_used(self) -> None:
        disk = {"now": "replicas: 2\n", "picture": "\xff"}
        written: List[str] = []

        def attachments(path: str, text: str) -> List[Attachment]:
            return [
                Attachment("today", disk["now"]),
                Attachment(path, text, base="today"),
                Attachment("plan.bin", bytes=disk["picture"].encode("latin-1")),
            ]

        write: Run = self.client().guard(
            lambda path, text: written.append(text),
            action="Write {path}",
            context=lambda path, text: {"path": path},
            attachments=attachments,
            for_=("r", "c"),
        )
        done = InThread(lambda: write("config.yaml", "replicas: 20 ü\n"))
        id = self.asked()
        self.assertEqual(
            [(one["name"], one["kind"], one["bytes"]) for one in self.requests()[0]["attachments"]],
            [("today", "text", 12), ("config.yaml", "diff", 16), ("plan.bin", "file", 1)],
        )
        disk["picture"] = "\xfe"
        self.decide(id)
        error = done.error()
        assert isinstance(error, Mismatch)
        self.assertEqual((error.field, written), ("attachments_sha256", []))
        disk["picture"] = "\xff"
        write("config.yaml", "replicas: 20 ü\n")
        self.assertEqual((written, len(self.requests())), (["replicas: 20 ü\n"], 1))

    def test_a_later_process_knows_the_attachments(self) -> None:
        def ask(text: str) -> str:
            attachments = [Attachment("a", text)]
            pending = self.client().ask("Write", for_=("r", "c"), attachments=attachments, within_seconds=0)
            assert pending.status == "pending"
            return pending.resume

        resume, other = ask("one"), ask("two")
        id, _, _ = resume.partition(".")
        self.decide(id)
        with self.assertRaises(Mismatch):
            self.client().resume(id + other[-44:])
        outcome = self.client().resume(resume)
        assert outcome.status == "approved"
        for attachments in ([], [Attachment("a", "two")]):
            with self.assertRaises(Mismatch):
                outcome.use(attachments=attachments)
        self.assertEqual(outcome.use(attachments=[Attachment("a", bytes=b"one")]).id, id)
