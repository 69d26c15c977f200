from __future__ import annotations

from typing import Any, Mapping, Optional


class CountersignError(Exception):
    """Why nothing was done. Every error of the client is one of these; what the guarded function raises passes through unchanged."""

    def __init__(self, sentence: str, id: Optional[str] = None) -> None:
        super().__init__(f"Not done: {sentence}")
        #: The request (``req_…``); None when the service never said one.
        self.id = id

    @property
    def sentence(self) -> str:
        """For the model: what happened and what to do next."""
        return str(self.args[0])


class Invalid(CountersignError):
    """The call itself is wrong: nothing was sent."""


class Rejected(CountersignError):
    """A person said no; ``comment`` is what they wrote, or None."""

    def __init__(self, sentence: str, id: str, comment: Optional[str]) -> None:
        super().__init__(sentence, id)
        self.comment = comment


class Expired(CountersignError):
    """Nobody decided before the request expired, or the approval was not used in time."""


class Withdrawn(CountersignError):
    """The request was withdrawn before anyone decided."""


class Used(CountersignError):
    """The approval was used before: at most one run for each approval."""


class Mismatch(CountersignError):
    """What is about to run is not what was approved; ``field`` is what differs, in the service's name for it."""

    def __init__(self, sentence: str, id: Optional[str] = None, field: Optional[str] = None) -> None:
        super().__init__(sentence, id)
        self.field = field


class Sandbox(CountersignError):
    """The sandbox decided, and no person."""


class Pending(CountersignError):
    """Nobody has decided within the caller's own time; the request still waits at ``review_url``. ``resume`` is for ``resume``."""

    def __init__(self, sentence: str, id: str, review_url: str, resume: str) -> None:
        super().__init__(sentence, id)
        self.review_url = review_url
        self.resume = resume


class Unreachable(CountersignError):
    """The service did not answer, or something else did. Says nothing about a decision."""


class Refused(CountersignError):
    """The service answered with an error that repeating does not mend; ``code`` is one of docs/errors.md, ``body`` the whole answer."""

    def __init__(
        self, sentence: str, id: Optional[str], code: str, status: int, body: Mapping[str, Any]
    ) -> None:
        super().__init__(sentence, id)
        self.code = code
        self.status = status
        self.body = body


def used(id: str) -> Used:
    return Used(
        "this approval was used before, so it may have been done. Check; to do it once more, ask in a new call.",
        id,
    )


def mismatch(id: Optional[str] = None, field: Optional[str] = None) -> Mismatch:
    return Mismatch("this is not what the person was asked. Ask in a new call.", id, field)


def unreachable(why: str, id: Optional[str] = None) -> Unreachable:
    return Unreachable(
        f"the approval service cannot be reached ({why}), which is no decision. Repeat the same call later.",
        id,
    )


def sandbox(id: str) -> Sandbox:
    return Sandbox("no person decides about this sandbox key. Tell the operator to set a live key.", id)


def lapsed(status: str, id: str) -> CountersignError:
    kind = Expired if status == "expired" else Withdrawn
    return kind(
        f"the request is {status}, neither approved in time nor refused. If it is still wanted, ask in a new call.",
        id,
    )
