"""A request from the ask to its use."""

from __future__ import annotations

import math
import re
import threading
import uuid
from dataclasses import dataclass, field, replace
from typing import Any, Awaitable, Callable, Dict, Literal, Mapping, NoReturn, Optional, Sequence, Tuple, Union

from . import _errors as errors
from ._attachments import Attachment, attach, compared, hashes_of
from ._json import canonical, copy_json, digest
from ._send import Body, Call, Core, Limits, Pause, Peer, limits_of, now, send

#: The run and the call within it, as your program names them: any text. The same two ask the same question, and find its answer.
For = Tuple[str, str]

API = "/api/v1/approvals/"


#: How an approval is used: within how many seconds, and with which attachments, where they are read anew.
RunUse = Callable[[Optional[float], Optional[Sequence[Attachment]]], Any]


class _NoBoolean:
    """A rejection would be as true as an approval."""

    def __bool__(self) -> NoReturn:
        raise TypeError("an outcome is neither true nor false: look at its status")


@dataclass(frozen=True)
class Asked:
    """A request that was just made, or found again; a person decides at ``review_url``."""

    id: str
    review_url: str


@dataclass(frozen=True)
class Use:
    """An approval, used up."""

    id: str
    decision_id: str
    used_at: str


@dataclass(frozen=True)
class _Approved(_NoBoolean):
    id: str
    #: What was approved: run exactly this.
    action: str
    context: Mapping[str, Any]
    #: The whole answer of the service, with the signed receipt: for ``countersign.verify``.
    receipt: Mapping[str, Any] = field(repr=False)
    _use: RunUse = field(repr=False, compare=False)
    status: Literal["approved"] = "approved"


@dataclass(frozen=True)
class Approved(_Approved):
    """An approval that nobody has used yet."""

    def use(
        self, *, within_seconds: Optional[float] = None, attachments: Optional[Sequence[Attachment]] = None
    ) -> Use:
        """
        Uses the approval, once. Call it last before acting, and act only if it returns.

        :param attachments: what is about to be used, where it is read anew: refused unless it is what was approved, in the same order
        :raises Used, Mismatch, Sandbox, Expired, Refused: Unreachable, after which it may be called again
        """
        use: Use = self._use(within_seconds, attachments)
        return use


@dataclass(frozen=True)
class AsyncApproved(_Approved):
    """The same for asyncio."""

    async def use(
        self, *, within_seconds: Optional[float] = None, attachments: Optional[Sequence[Attachment]] = None
    ) -> Use:
        """Uses the approval, once. Await it last before acting, and act only if it returns. Raises as ``Approved.use`` does."""
        used: Awaitable[Use] = self._use(within_seconds, attachments)
        return await used


@dataclass(frozen=True)
class WasRejected(_NoBoolean):
    id: str
    comment: Optional[str]
    status: Literal["rejected"] = "rejected"


@dataclass(frozen=True)
class HasExpired(_NoBoolean):
    id: str
    status: Literal["expired"] = "expired"


@dataclass(frozen=True)
class WasWithdrawn(_NoBoolean):
    id: str
    status: Literal["withdrawn"] = "withdrawn"


@dataclass(frozen=True)
class WasUsed(_NoBoolean):
    """Approved, and used up ``at`` that time."""

    id: str
    at: str
    status: Literal["used"] = "used"


@dataclass(frozen=True)
class IsPending(_NoBoolean):
    id: str
    review_url: str
    resume: str
    status: Literal["pending"] = "pending"


NotApproved = Union[WasRejected, HasExpired, WasWithdrawn, WasUsed, IsPending]
#: What became of a request: look at its ``status``. There is no boolean to mistake, and only ``approved`` has ``use``.
Outcome = Union[Approved, NotApproved]
AsyncOutcome = Union[AsyncApproved, NotApproved]


@dataclass(frozen=True)
class Approval:
    """An approval before it is known how its use is run."""

    id: str
    action: str
    context: Mapping[str, Any]
    receipt: Mapping[str, Any]
    use: RunUse


Found = Union[Approval, NotApproved]


@dataclass(frozen=True)
class Question:
    action: str
    for_: For
    context: Mapping[str, Any] = field(default_factory=dict)
    within_seconds: Optional[float] = None
    ttl_seconds: Optional[int] = None
    fields: Optional[Mapping[str, Any]] = None
    on_asked: Optional[Callable[[Asked], object]] = None
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True)
class _Open:
    """A request that is being waited for; ``content`` is the digest of what it must be about."""

    id: str
    content: Optional[str]
    limits: Limits


def ask(peer: Peer, question: Question) -> Core[Found]:
    names = question.for_
    # Without the caller's own names, two calls would share one answer.
    if not isinstance(names, (tuple, list)) or len(names) != 2 or not all(map(is_text, names)):
        raise errors.Invalid("`for_` must be (run, call), two texts that name this run and this call in it.")
    if not is_text(question.action) or not isinstance(question.context, dict):
        raise errors.Invalid("the action must be a text, and the context a dict.")
    fields = copy_json({**(question.fields or {})}, "the request")
    if "attachments" in fields:
        # By which no hash would be compared.
        raise errors.Invalid("`attachments` are no field, but a parameter of their own.")
    asked = copy_json({"action": question.action, "context": question.context}, "the request")
    ttl = {} if question.ttl_seconds is None else {"ttl_seconds": question.ttl_seconds}
    sent, hashed = attach(question.attachments)
    body = copy_json({**fields, **ttl, **asked, **({"attachments": sent} if sent else {})}, "the request")
    about = _about(asked, hashed)
    limits = limits_of(question.within_seconds)
    since = now()
    wait = "" if question.on_asked else "?wait="
    call = Call(f"{API}request", body=body, once=digest([*names, about]), wait=wait)
    try:
        made = yield from send(peer, limits, call)
    except errors.Refused as error:
        if error.code == "idempotency_mismatch":
            raise errors.mismatch(None, "request") from error
        raise
    id = made.get("id", made.get("request_id"))
    if not isinstance(id, str) or not re.fullmatch(r"req_\w+", id, re.ASCII):
        raise errors.unreachable("it answers without a request")
    request = _Open(id, digest(about), replace(limits, id=id))
    _check_sandbox(peer, made, id)
    if question.on_asked:
        question.on_asked(Asked(id, _review_url(peer, made, id)))
    return (yield from _wait(peer, request, since, made.get("approval")))


def resume(peer: Peer, handle: str, within_seconds: Optional[float]) -> Core[Found]:
    found = re.fullmatch(r"(req_\w+)(?:\.([\w-]{43}))?", handle, re.ASCII) if is_text(handle) else None
    if not found:
        raise errors.Invalid("resume takes the id of a request, or what `resume` of a pending outcome held.")
    id, content = found.groups()
    return (yield from _wait(peer, _Open(id, content, limits_of(within_seconds, id)), now()))


def insist(outcome: Found) -> Approval:
    """:raises: what stands for an outcome that is no approval"""
    if isinstance(outcome, Approval):
        return outcome
    id = outcome.id
    if isinstance(outcome, WasRejected):
        words = f" and wrote {canonical(outcome.comment)}" if outcome.comment else ""
        raise errors.Rejected(
            f"a person rejected this{words}. Do not do it in another way and do not ask for it again; tell the user.",
            id,
            outcome.comment,
        )
    if isinstance(outcome, WasUsed):
        raise errors.used(id)
    if isinstance(outcome, IsPending):
        url = outcome.review_url
        raise errors.Pending(
            f"nobody has decided yet, which is no refusal. A person can decide at {url}; repeat the same call later.",
            id,
            url,
            outcome.resume,
        )
    raise errors.lapsed(outcome.status, id)


def is_text(value: object) -> bool:
    return type(value) is str and value != ""


def _wait(peer: Peer, request: _Open, started: float, found: object = None) -> Core[Found]:
    """
    Reads the request until it is no longer pending, or the time is over.

    :param found: the request as the call said that made it, begun at `started`
    """
    path, limits = API + request.id, request.limits
    pending: Optional[Found] = None
    crowded = False
    while True:
        try:
            if isinstance(found, dict):
                read = found
            else:
                wait = "" if crowded else "/wait?timeout="
                read = yield from send(peer, limits, Call(path, "GET", wait=wait))
            found = None
            outcome = _outcome_of(peer, read, request)
            if not isinstance(outcome, IsPending) or now() >= limits.end:
                return outcome
            pending, crowded = outcome, False
        except errors.Refused as error:
            # Others hold all places for waits of this key: look once, and wait again later.
            crowded = error.status == 429 and error.code == "too_many_waits"
            if crowded:
                started = now()
                continue
            if error.status == 429 and pending and limits.end - started < peer.patience:
                return pending
            raise
        # A service that is stopping answers at once: it shall not be asked without end.
        if now() - started < 1:
            yield Pause(min(3, max(0.0, limits.end - now())))
        started = now()


def _outcome_of(peer: Peer, read: Body, request: _Open) -> Found:
    id = request.id
    _check_about(read.get("id"), id)
    _check_sandbox(peer, read, id)
    status, action = read.get("status"), read.get("action")
    if status == "rejected":
        decision = read.get("decision")
        comment = decision.get("comment") if isinstance(decision, dict) else None
        return WasRejected(id, comment if isinstance(comment, str) else None)
    if status == "expired":
        return WasWithdrawn(id) if read.get("cancelled") else HasExpired(id)
    if status not in ("approved", "pending"):
        raise errors.unreachable(f"it answers {status}", id)
    context = copy_json(read.get("context"), "the context")
    if not isinstance(action, str) or not isinstance(context, dict):
        raise errors.unreachable("it answers without an action or context", id)
    listed = read.get("attachments") or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise errors.unreachable("it answers without a list of attachments", id)
    hashed = [compared(one) for one in listed]
    found = digest(_about({"action": action, "context": context}, hashed))
    if request.content and found != request.content:
        raise errors.mismatch(id)
    if status == "pending":
        return IsPending(id, _review_url(peer, read, id), f"{id}.{found}")
    used_at = read.get("consumed_at")
    if used_at:
        return WasUsed(id, str(used_at))
    once = _UseOnce(peer, id, {"action": action, "context": context}, hashes_of(hashed))
    return Approval(id, action, context, read, once.use)


def _about(asked: Mapping[str, Any], hashed: Sequence[Mapping[str, str]]) -> Dict[str, Any]:
    """What a request is found and recognised by."""
    return {**asked, "attachments": hashed} if hashed else {**asked}


class _UseOnce:
    """At most one ``use`` succeeds, and in all processes together at most one for each approval."""

    def __init__(self, peer: Peer, id: str, content: Mapping[str, Any], hashes: Sequence[str]) -> None:
        self._peer = peer
        self._id = id
        refuse = {} if peer.allow_sandbox else {"refuse_sandbox": True}
        self._body = {**content, **refuse, "attachments_sha256": [*hashes]}
        # Drawn anew for each outcome: a repeat after a lost answer gets that answer, and another process never does.
        self._once = str(uuid.uuid4())
        self._taken = threading.Lock()

    def use(self, within_seconds: Optional[float], attachments: Optional[Sequence[Attachment]]) -> Core[Use]:
        peer, id = self._peer, self._id
        limits = limits_of(within_seconds, id)
        body = self._body
        if attachments is not None:
            body = {**body, "attachments_sha256": hashes_of(attach(attachments)[1])}
        if not self._taken.acquire(blocking=False):
            raise errors.used(id)
        try:
            use = yield from send(peer, limits, Call(f"{API}{id}/consume", body=body, once=self._once))
        except BaseException as error:
            # Nobody has acted on it here, so the same key may ask again, and learns whether it was used up.
            self._taken.release()
            if isinstance(error, errors.Refused):
                raise _refused_use(error, id) from error
            raise
        _check_about(use.get("request_id"), id)
        _check_sandbox(peer, use, id)
        return Use(id, str(use.get("decision_id")), str(use.get("consumed_at")))


def _refused_use(error: errors.Refused, id: str) -> errors.CountersignError:
    if error.code == "already_consumed":
        return errors.used(id)
    if error.code == "mismatch":
        field = error.body.get("field")
        return errors.mismatch(id, field if isinstance(field, str) else None)
    if error.code == "approval_lapsed":
        return errors.lapsed("expired", id)
    if error.code == "sandbox_approval":
        return errors.sandbox(id)
    return error


def _check_about(found: object, id: str) -> None:
    """A cache or a proxy may mix answers up."""
    if found != id:
        raise errors.unreachable("it answers about another request", id)


def _check_sandbox(peer: Peer, answer: Body, id: str) -> None:
    if answer.get("sandbox") and not peer.allow_sandbox:
        raise errors.sandbox(id)


def _review_url(peer: Peer, answer: Body, id: str) -> str:
    url = answer.get("review_url")
    return url if isinstance(url, str) else f"{peer.url}/a/{id}"
