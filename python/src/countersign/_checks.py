"""The checks of one receipt, in the order of the service's receipt-checks.ts; the first failure ends them."""

from __future__ import annotations

import calendar
import datetime
import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._jwks import Key
from ._receipt_error import ReceiptError, Refusal, refuse
from ._receipt_input import STATED, Claim, ReceiptInput, parse_receipt_input
from ._restore import restore_caution
from ._strict import canonicalize, is_text, parse_canonical, same, signature_holds

#: Seconds by which the signer's clock may run ahead.
CLOCK_LEEWAY = 300

MOST = 2**53 - 1


@dataclass(frozen=True)
class Options:
    """What the receipt must say; `context` is the RFC 8785 text."""

    allow_sandbox: bool
    now: float
    request: Optional[str]
    action: Optional[str]
    context: Optional[str]
    audience: Optional[str]
    account: Optional[str]


@dataclass(frozen=True)
class Valid:
    """A receipt that passed every check. `unproven`: it is genuine, but nothing signed says what it is about."""

    payload: Mapping[str, Any]
    unproven: bool
    stated: Optional[Mapping[str, Any]]
    #: The person who acted: the approver, or the delegate that the intent names.
    acted: str
    #: What the other votes on the request must state, too: of all versions, and what versions 2 to 4 add. Empty without an intent.
    asked: Tuple[str, ...]
    key_revoked_at: Optional[int]
    restore_caution: Optional[str]


Result = Union[Valid, Refusal]


@dataclass(frozen=True)
class Statement:
    """What the intent next to a receipt adds to it."""

    action: str
    context_sha256: str
    created_at: str
    high_impact: bool
    delegate: Optional[str]
    #: Absent in version 1 of the statement.
    stated: Optional[Mapping[str, Any]]
    asked: Tuple[str, ...]

    def field(self, name: str) -> Any:
        return getattr(self, name)


def examine(json: Any, keys: Sequence[Key], options: Options) -> Result:
    """No content of the JSON makes it raise."""
    try:
        read = parse_receipt_input(json)
    except ReceiptError as error:
        return refuse(error.code)
    return examine_input(read, keys, options)


def examine_input(read: ReceiptInput, keys: Sequence[Key], options: Options) -> Result:
    key = _locate(read, keys)
    if isinstance(key, Refusal):
        return key
    return _held_to_intent(_judge(read, key, options), options)


def _locate(read: ReceiptInput, keys: Sequence[Key]) -> Union[Key, Refusal]:
    """The key in a message is never used itself, because the author of the message chose it."""
    for key in keys:
        if key.public_key == read.public_key if read.kid is None else key.kid == read.kid:
            if read.public_key is not None and key.public_key != read.public_key:
                return refuse("receipt_key_mismatch")
            return key
    return refuse("receipt_key_unknown")


def _judge(read: ReceiptInput, key: Key, options: Options) -> Result:
    if not signature_holds(key.public_key, read.payload, read.signature):
        return refuse("receipt_signature_invalid")
    try:
        payload = parse_canonical(read.payload.decode("utf-8"))
    except ValueError:
        return refuse("receipt_payload_not_canonical")
    version = payload.get("v") if isinstance(payload, dict) else None
    if not same(version, 1):
        return refuse("receipt_version_unsupported", "v")
    problem = _payload_problem(payload)
    if problem is not None:
        return refuse("receipt_payload_invalid", problem)
    statement = None if read.intent is None else _open(payload, read.intent)
    subject = _Subject(payload, key, read, statement, options)
    for check in CHECKS:
        refusal = check(subject)
        if refusal is not None:
            return refusal
    expected = options.action is not None or options.context is not None
    created = _date(statement.created_at) if statement else None
    caution = restore_caution(
        payload["rid"], payload["ts"], payload["exp"], key.not_before, created, key.restores
    )
    acted = payload["approver"] if statement is None or statement.delegate is None else statement.delegate
    return Valid(
        payload,
        read.intent is None and (read.names_content or expected),
        statement.stated if statement else None,
        acted,
        statement.asked if statement else (),
        key.revoked_at,
        caution,
    )


def _held_to_intent(result: Result, options: Options) -> Result:
    """Checks the expected audience and account, which only the intent states."""
    if isinstance(result, Refusal):
        return result
    stated = result.stated
    for name, wanted, said in (
        ("audience", options.audience, stated and stated["audience"]),
        ("account", options.account, stated and stated["requester"]["account"]),
    ):
        if wanted is not None and wanted != said:
            if stated is not None:
                return refuse("receipt_unexpected", name)
            return replace(result, unproven=True, stated=None)
    return result


@dataclass(frozen=True)
class _Subject:
    payload: Mapping[str, Any]
    key: Key
    read: ReceiptInput
    statement: Optional[Statement]
    options: Options


Check = Callable[[_Subject], Optional[Refusal]]


def _time(s: _Subject) -> Optional[Refusal]:
    return refuse("receipt_time_invalid", "ts") if s.payload["ts"] > s.payload["exp"] else None


def _purpose(s: _Subject) -> Optional[Refusal]:
    right = "decision-sandbox" if s.payload.get("sandbox") else "decision"
    return None if s.key.purpose == right else refuse("receipt_key_purpose_mismatch")


def _validity(s: _Subject) -> Optional[Refusal]:
    """The second of a key's revocation is refused already."""
    ts, key = s.payload["ts"], s.key
    if ts < key.not_before:
        return refuse("receipt_key_not_yet_valid", "ts")
    if key.revoked_at is not None and ts >= key.revoked_at:
        return refuse("receipt_key_revoked", "ts")
    if key.not_after is not None and ts > key.not_after:
        return refuse("receipt_key_expired", "ts")
    return None


def _sandbox(s: _Subject) -> Optional[Refusal]:
    refused = s.payload.get("sandbox") and not s.options.allow_sandbox
    return refuse("receipt_sandbox_refused", "sandbox") if refused else None


def _claims(s: _Subject) -> Optional[Refusal]:
    for claim in s.read.claims:
        if claim.field != "action" and claim.field not in STATED and not _agrees(claim, s.payload):
            return refuse("receipt_contradicts_payload", claim.name)
    return None


def _action_hash(s: _Subject) -> Optional[Refusal]:
    for claim in s.read.claims:
        if claim.field == "action" and (
            not is_text(claim.value) or sha256_hex(claim.value)[:16] != s.payload["action"]
        ):
            return refuse("receipt_contradicts_payload", claim.name)
    return None


def _expected(s: _Subject) -> Optional[Refusal]:
    request, action = s.options.request, s.options.action
    if request is not None and s.payload["rid"] != request:
        return refuse("receipt_unexpected", "rid")
    if action is not None and sha256_hex(action)[:16] != s.payload["action"]:
        return refuse("receipt_unexpected", "action")
    return None


def _clock(s: _Subject) -> Optional[Refusal]:
    early = s.payload["ts"] <= s.options.now + CLOCK_LEEWAY
    return None if early else refuse("receipt_from_future", "ts")


def _intent(s: _Subject) -> Optional[Refusal]:
    if s.read.intent is None:
        return None
    if s.statement is None:
        return refuse("receipt_intent_mismatch", "intent")
    for claim in s.read.claims:
        if _contradicts(claim, s.statement):
            return refuse("receipt_contradicts_payload", claim.name)
    return None


def _action(s: _Subject) -> Optional[Refusal]:
    claims = [(claim.name, claim.value) for claim in s.read.claims if claim.field == "action"]
    return _content(s, "action", claims, s.options.action)


def _context(s: _Subject) -> Optional[Refusal]:
    found = [] if s.read.context is None else [("context", sha256_hex(s.read.context))]
    wanted = None if s.options.context is None else sha256_hex(s.options.context)
    return _content(s, "context_sha256", found, wanted)


def _content(
    s: _Subject, name: str, found: List[Tuple[str, Any]], wanted: Optional[str]
) -> Optional[Refusal]:
    """Checks the content next to the receipt, and the content the caller expects, against the intent."""
    if s.statement is None:
        return None
    said = s.statement.field(name)
    for where, value in found:
        if not same(value, said):
            return refuse("receipt_contradicts_payload", where)
    if wanted is not None and wanted != said:
        return refuse("receipt_unexpected", "action" if name == "action" else "context")
    return None


CHECKS: Tuple[Check, ...] = (
    _time,
    _purpose,
    _validity,
    _sandbox,
    _claims,
    _action_hash,
    _expected,
    _clock,
    _intent,
    _action,
    _context,
)


def _agrees(claim: Claim, payload: Mapping[str, Any]) -> bool:
    if claim.field in ("ts", "exp"):
        at = _time_of(claim.value)
        return at is not None and at == payload[claim.field]
    if claim.field == "sandbox":
        return claim.value is (payload.get("sandbox") is True)
    return same(claim.value, payload.get(claim.field))


def _contradicts(claim: Claim, statement: Statement) -> bool:
    name, value, stated = claim.field, claim.value, statement.stated
    if name not in STATED:
        return False
    if name in ("delegate", "created_at", "high_impact"):
        # A delegate that the statement does not name is `undefined` there, which no value of JSON is.
        return not same(value, statement.field(name)) or value is None
    if stated is None:
        return False
    if name == "requester":
        return not _is_requester(value, stated["requester"])
    return not same(value, stated[name])


def _is_requester(value: Any, requester: Mapping[str, str]) -> bool:
    """A requester is named by a text (the key's name), or by an object: each of its fields that is signed must agree."""
    if isinstance(value, str):
        return value == requester["name"]
    if not isinstance(value, dict):
        return False
    names = {"key": "key", "name": "name", "key_name": "name", "account": "account"}
    return all(name not in value or same(value[name], requester[of]) for name, of in names.items())


def _open(payload: Mapping[str, Any], text: str) -> Optional[Statement]:
    """Opens the commitment of a receipt: the signed nonce must be the shortened hash of this text, its RFC 8785 form."""
    if not is_text(text) or sha256_hex(text)[:32] != payload["nonce"]:
        return None
    try:
        intent = parse_canonical(text)
    except ValueError:
        return None
    if not isinstance(intent, dict):
        return None
    if any(not same(intent.get(name), payload[name]) for name in ("rid", "decision", "approver", "exp")):
        return None
    texts = ("aud", "action", "context_sha256", "request_created_at", "salt")
    if not all(is_text(intent.get(name)) for name in texts) or not isinstance(intent.get("high_impact"), bool):
        return None
    if "delegate" in intent and not is_text(intent["delegate"]):
        return None
    stated = _read_stated(intent)
    version = 3 if stated and stated["use_within_seconds"] is not None else 2
    if stated and stated["attachments"] is not None:
        version = 4
    typ = intent.get("typ")
    if typ != "human-approval/intent/v1" and (stated is None or typ != f"human-approval/intent/v{version}"):
        return None
    return Statement(
        intent["action"],
        intent["context_sha256"],
        intent["request_created_at"],
        intent["high_impact"],
        intent.get("delegate"),
        stated,
        _asked(intent, stated),
    )


def _asked(intent: Mapping[str, Any], stated: Optional[Mapping[str, Any]]) -> Tuple[str, ...]:
    names = ("action", "context_sha256", "request_created_at", "exp", "high_impact")
    common = canonicalize([intent[name] for name in names])
    if stated is None:
        return (common,)
    # Each person's browser fetches the attachments by itself.
    attached = [{**one, "opened": False} for one in stated["attachments"] or ()]
    return common, canonicalize({**stated, "attachments": attached})


def _read_stated(intent: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """What versions 2 to 4 add; None when a field is missing or of another kind."""
    requester = intent.get("requester")
    if not isinstance(requester, dict) or not is_text(intent.get("policy_sha256")):
        return None
    asker = {name: requester.get(name) for name in ("key", "name", "account")}
    if not all(map(is_text, asker.values())) or not _is_count(intent.get("quorum")):
        return None
    if any(name in intent and not is_text(intent[name]) for name in ("audience", "reversibility")):
        return None
    if "use_within_seconds" in intent and not _is_count(intent["use_within_seconds"]):
        return None
    if "attachments" in intent and not _are_attachments(intent["attachments"]):
        return None
    return {
        "requester": asker,
        "quorum": intent["quorum"],
        "policy_sha256": intent["policy_sha256"],
        "attachments": intent.get("attachments"),
        **{name: intent.get(name) for name in ("audience", "reversibility", "use_within_seconds")},
    }


def _are_attachments(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_attachment, value))


def _is_attachment(value: Any) -> bool:
    if not isinstance(value, dict) or not all(is_text(value.get(name)) for name in ("name", "kind")):
        return False
    sha256, size = value.get("sha256"), value.get("bytes")
    sized = type(size) is int and abs(size) <= MOST and isinstance(value.get("opened"), bool)
    hashed = isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256) is not None
    return sized and hashed and ("base" not in value or is_text(value["base"]))


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _is_seconds(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


#: Exact shape of every field of payload v1.
FIELDS: Dict[str, Callable[[Any], bool]] = {
    "v": lambda value: same(value, 1),
    "rid": _matches("req_[0-9a-hjkmnp-tv-z]{26}"),
    "did": _matches("dec_[0-9a-hjkmnp-tv-z]{26}"),
    "approver": _matches("[0-9a-f]{16}"),
    "action": _matches("[0-9a-f]{16}"),
    "decision": _matches("approved|rejected"),
    "method": _matches("passkey|totp|sandbox"),
    "ts": _is_seconds,
    "exp": _is_seconds,
    "nonce": _matches("[0-9a-f]{32}"),
}


def _payload_problem(payload: Mapping[str, Any]) -> Optional[str]:
    """The first field that keeps a value from being payload v1."""
    for name, check in FIELDS.items():
        if not check(payload.get(name)):
            return name
    for name in payload:
        if name not in FIELDS and name != "sandbox":
            return name
    marked = "sandbox" in payload
    if marked and payload["sandbox"] is not True:
        return "sandbox"
    return None if marked == (payload["method"] == "sandbox") else "sandbox"


def _time_of(value: Any) -> Optional[int]:
    """Accepts only the service's spelling."""
    return _date(value) if isinstance(value, str) else None


def _date(text: str) -> Optional[int]:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", text):
        return None
    try:
        return calendar.timegm(datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").timetuple())
    except ValueError:
        return None


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
