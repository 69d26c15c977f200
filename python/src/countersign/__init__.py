"""Lets a person approve what your agent is about to do."""

from ._ask import (
    Approved,
    Asked,
    AsyncApproved,
    AsyncOutcome,
    For,
    HasExpired,
    IsPending,
    Outcome,
    Use,
    WasRejected,
    WasUsed,
    WasWithdrawn,
)
from ._attachments import Attachment
from ._client import AsyncCountersign, Countersign
from ._errors import (
    CountersignError,
    Expired,
    Invalid,
    Mismatch,
    Pending,
    Refused,
    Rejected,
    Sandbox,
    Unreachable,
    Used,
    Withdrawn,
)
from ._json import Json
from ._send import HttpAnswer, HttpCall, Transport

__all__ = [
    "Approved",
    "Asked",
    "AsyncApproved",
    "AsyncCountersign",
    "AsyncOutcome",
    "Attachment",
    "Countersign",
    "CountersignError",
    "Expired",
    "For",
    "HasExpired",
    "HttpAnswer",
    "HttpCall",
    "Invalid",
    "IsPending",
    "Json",
    "Mismatch",
    "Outcome",
    "Pending",
    "Refused",
    "Rejected",
    "Sandbox",
    "Transport",
    "Unreachable",
    "Use",
    "Used",
    "WasRejected",
    "WasUsed",
    "WasWithdrawn",
    "Withdrawn",
]
