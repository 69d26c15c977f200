"""Checks receipts without the service. Needs the package's extra ``[verify]`` (cryptography)."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal, Mapping, NoReturn, Optional, Tuple, Union

from ._checks import Options, Result, examine
from ._json import parse_unambiguous
from ._jwks import read_jwks
from ._receipt_error import Refusal
from ._strict import canonicalize
from ._votes import cautions_about, judge_together

__all__ = ["RefusedReceipt", "ValidReceipt", "Verdict", "verify_receipt"]


class _NoBoolean:
    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is neither true nor false: act only on verdict == 'approved'")


@dataclass(frozen=True)
class ValidReceipt(_NoBoolean):
    """
    ``approved`` and ``rejected``: the receipt is valid and says so. ``unproven``: it is genuine, but nothing signed says what it is
    about. Act only on ``approved``.
    """

    verdict: Literal["approved", "rejected", "unproven"]
    request_id: str
    decision_id: str
    #: A reference, no name.
    approver: str
    method: Literal["passkey", "totp", "sandbox"]
    decided_at: datetime.datetime
    #: Reasons for doubt, such as a key that was revoked later. Refuse a receipt with any if it must be beyond doubt.
    cautions: Tuple[str, ...]
    #: How many approvals are in it.
    votes: int


@dataclass(frozen=True)
class RefusedReceipt(_NoBoolean):
    """``code`` is stable (docs/receipts.md); ``field`` names the wrong field, if it is a single one."""

    code: str
    message: str
    field: Optional[str] = None
    verdict: Literal["refused"] = "refused"


Verdict = Union[ValidReceipt, RefusedReceipt]


def verify_receipt(
    receipt: Any,
    key_set: Any,
    *,
    request: Optional[str] = None,
    action: Optional[str] = None,
    context: Optional[Mapping[str, Any]] = None,
    audience: Optional[str] = None,
    account: Optional[str] = None,
    allow_sandbox: bool = False,
    now: Optional[datetime.datetime] = None,
) -> Verdict:
    """
    Checks a receipt without the service: the same checks as ``countersign verify``, in the same order. What is left out is not
    compared.

    :param receipt: an answer of the service, a callback's or webhook's body, or its text
    :param key_set: what ``/.well-known/jwks.json`` of your service answered, or its text: never one that came with the receipt
    :param request: the id of your request
    :param action: the whole action that is about to be done
    :param context: the context it is done with
    :param account: your account (``acc_…``): one key set serves all accounts of a service
    :param allow_sandbox: for tests only
    :param now: with a time zone; instead of the machine's clock
    :raises ValueError: for a key set that cannot be trusted, an expected context that JSON cannot hold, and a time without a zone
    :raises ImportError: without ``cryptography``
    """
    if now is not None and now.tzinfo is None:
        raise ValueError("now needs a time zone")
    at = datetime.datetime.now(datetime.timezone.utc) if now is None else now
    text = None if context is None else canonicalize(dict(context))
    options = Options(allow_sandbox is True, at.timestamp(), request, action, text, audience, account)
    keys = read_jwks(_read(key_set))
    result, votes = judge_together(_read(receipt), lambda one: examine(one, keys, options))
    return _verdict(result, votes)


def _verdict(result: Result, votes: Any) -> Verdict:
    if isinstance(result, Refusal):
        return RefusedReceipt(result.code, result.message, result.field)
    said = result.payload
    return ValidReceipt(
        "unproven" if result.unproven else said["decision"],
        said["rid"],
        said["did"],
        said["approver"],
        said["method"],
        datetime.datetime.fromtimestamp(said["ts"], datetime.timezone.utc),
        tuple(cautions_about(result, votes)),
        max(1, len(votes)),
    )


def _read(value: Any) -> Any:
    """Text is read as other programs would read it: a member named twice is refused."""
    if not isinstance(value, (str, bytes)):
        return value
    try:
        return parse_unambiguous(value if isinstance(value, str) else value.decode("utf-8"))
    except ValueError:
        return None
