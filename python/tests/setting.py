"""The real service behind a network on which calls go wrong: started, and ordered, by test/python/client.test.ts."""

from __future__ import annotations

import json
import os
import threading
import time
import unittest
import urllib.request
from typing import Any, Callable, Dict, Generic, List, Optional, TypeVar

from countersign import Countersign

CONTROL = os.environ.get("COUNTERSIGN_TEST_CONTROL", "")
NETWORK = os.environ.get("COUNTERSIGN_TEST_NETWORK", "")
SERVICE = os.environ.get("COUNTERSIGN_TEST_SERVICE", "")

#: The paths of the calls of a guard; it waits by itself only where the create did not wait, or not long enough.
CREATE = r"/request\b"
WAIT = r"/wait\?|/req_\w+$"
CONSUME = r"/consume$"

#: Seconds after which a test that waits for something has failed; only what hangs meets it.
PATIENCE = 120

Result = TypeVar("Result")


def order(do: str, **what: Any) -> Any:
    data = json.dumps({"do": do, **what}).encode()
    with urllib.request.urlopen(CONTROL, data, timeout=PATIENCE) as answer:
        return json.load(answer)


def until(found: Callable[[], Optional[Result]]) -> Result:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = found()
        if result is not None:
            return result
        time.sleep(0.02)
    raise AssertionError("waited in vain")


class InThread(Generic[Result]):
    """A call in another thread: its result, or what it raised."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: List[Result] = []
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:
            self._error = error

    def result(self) -> Result:
        self._thread.join(PATIENCE)
        if self._error is not None:
            raise self._error
        return self._result[0]

    def error(self) -> Any:
        self._thread.join(PATIENCE)
        return self._error


@unittest.skipUnless(CONTROL, "run by test/python/client.test.ts")
class Hostile(unittest.TestCase):
    """A key for each test, and a network that is calm before it."""

    def setUp(self) -> None:
        order("calm")
        self.key: str = order("key", sandbox=False)

    def client(self, **options: Any) -> Countersign:
        return Countersign(**{"url": NETWORK, "key": self.key, **options})

    def requests(self) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = order("requests", key=self.key)
        return found

    def asked(self, many: int = 1) -> str:
        """The newest request, as soon as there are so many."""

        def look() -> Optional[str]:
            found = self.requests()
            return str(found[0]["id"]) if len(found) == many else None

        return until(look)

    def decide(self, id: str, decision: str = "approved", comment: str = "") -> None:
        order("decide", id=id, decision=decision, comment=comment)

    def spoil(self, path: str, *mishaps: Any) -> None:
        order("spoil", path=path, mishaps=list(mishaps))

    def seen(self, word: str) -> List[Dict[str, Any]]:
        return [call for call in order("seen") if word in call["path"]]

    def waiting(self) -> None:
        until(lambda: self.seen("wait?") or self.seen("wait=") or None)
