"""Copies a receipt out of the JSON that carried it, as the service's receipt-input.ts does; nothing in it is trusted yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar

from ._receipt_error import ReceiptError
from ._strict import canonicalize, from_base64, is_text

Result = TypeVar("Result")

#: Fields that only the intent has.
STATED = (
    "delegate",
    "created_at",
    "high_impact",
    "audience",
    "reversibility",
    "use_within_seconds",
    "requester",
)

#: The payload fields that these names claim next to a receipt of any form.
CLAIMS: Dict[str, str] = {
    "request_id": "rid",
    "decision_id": "did",
    "approver": "approver",
    "delegate": "delegate",
    "high_impact": "high_impact",
    "audience": "audience",
    "reversibility": "reversibility",
    "use_within_seconds": "use_within_seconds",
    "requested_by": "requester",
    "requester": "requester",
    "decision": "decision",
    "method": "method",
    "decided_at": "ts",
    "expires_at": "exp",
    "sandbox": "sandbox",
    "type": "decision",
}
DECISION_CLAIMS = {**CLAIMS, "id": "did", "action": "action"}
VERIFY_CLAIMS = {**CLAIMS, "id": "rid"}
REQUEST_CLAIMS = {**DECISION_CLAIMS, "id": "rid", "status": "decision", "created_at": "created_at"}

#: A payload of format 1 has fewer than 400 bytes; a larger one than this is never hashed for a stranger.
MAX_PAYLOAD_BYTES = 4096


@dataclass(frozen=True)
class Claim:
    name: str
    field: str
    value: Any


@dataclass(frozen=True)
class ReceiptInput:
    payload: bytes
    signature: bytes
    kid: Optional[str]
    #: Used only to find the key in the pinned set.
    public_key: Optional[bytes]
    claims: Tuple[Claim, ...]
    intent: Optional[str] = None
    context: Optional[str] = None
    #: An action or a context stands next to the receipt, whether or not this form of receipt binds them to it.
    names_content: bool = False


def parse_receipt_input(json: Any) -> ReceiptInput:
    """:raises ReceiptError:"""
    if not isinstance(json, dict):
        raise ReceiptError("receipt_unreadable")
    erased = "erased_at" in json
    # What stands in place of erased texts. Whoever adds the mark elsewhere gains nothing: the receipt then proves no content.
    words = ("action", "context", "metadata", "requested_by", "requester") if erased else ()
    outer = {name: value for name, value in json.items() if name not in words}
    parts = [outer, _fields(outer.get("signed_receipt")), _fields(outer.get("decision"))]
    named = any(name in part for part in parts if part is not None for name in ("action", "context", "metadata"))
    return replace(_read_form(outer), names_content=named or erased)


def _read_form(outer: Dict[str, Any]) -> ReceiptInput:
    receipt = _fields(outer.get("signed_receipt"))
    decision = _fields(outer.get("decision"))
    answer = _fields(outer.get("payload"))
    whole = [part for part in (receipt, decision, answer) if part is not None]
    payloads = sum(name in part for part in (outer, *whole) for name in ("canonical_payload", "signed_payload"))
    # The first two forms wrap a single payload field; of several payloads, a reader could use another than the one checked.
    if len(whole) + payloads > (1 if receipt is None and decision is None else 2):
        raise ReceiptError("receipt_unreadable")
    if receipt is not None:
        return _from_receipt(receipt, _claims(outer, CLAIMS))
    if decision is not None:
        read = _from_decision(decision, _claims(outer, REQUEST_CLAIMS))
        return replace(read, context=_context_of(outer, decision))
    if answer is not None:
        return _from_verify_answer(outer)
    if "canonical_payload" in outer:
        return _from_receipt(outer, [])
    if "signed_payload" in outer:
        return replace(_from_decision(outer, []), context=_context_of(outer))
    undecided = outer.get("status") in ("pending", "expired")
    raise ReceiptError("receipt_not_decided" if undecided else "receipt_unreadable")


def _context_of(*parts: Mapping[str, Any]) -> Optional[str]:
    """The context, by either name, next to the decision or inside it; two that differ cannot both have been decided on."""
    found = [part[name] for part in parts for name in ("context", "metadata") if name in part]
    contexts = [_attempt("receipt_unreadable", partial(canonicalize, value)) for value in found]
    if any(context != contexts[0] for context in contexts):
        raise ReceiptError("receipt_unreadable")
    return contexts[0] if contexts else None


def _from_receipt(fields: Mapping[str, Any], around: List[Claim]) -> ReceiptInput:
    return _assemble(fields, _utf8(fields.get("canonical_payload")), [*around, *_claims(fields, CLAIMS)])


def _from_decision(fields: Mapping[str, Any], around: List[Claim]) -> ReceiptInput:
    payload = _attempt("receipt_payload_malformed", lambda: from_base64(fields.get("signed_payload"), url=True))
    read = _assemble(fields, payload, [*around, *_claims(fields, DECISION_CLAIMS)])
    if "intent" not in fields:
        return read
    if not isinstance(fields["intent"], str):
        raise ReceiptError("receipt_intent_mismatch")
    return replace(read, intent=fields["intent"])


def _from_verify_answer(fields: Mapping[str, Any]) -> ReceiptInput:
    # `valid: true` proves nothing, but an answer that says it is invalid is no receipt.
    if fields.get("valid") is False:
        raise ReceiptError("receipt_unreadable")
    payload = _attempt("receipt_payload_malformed", lambda: canonicalize(fields.get("payload")))
    return _assemble(fields, _utf8(payload), _claims(fields, VERIFY_CLAIMS))


def _assemble(fields: Mapping[str, Any], payload: bytes, claims: List[Claim]) -> ReceiptInput:
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ReceiptError("receipt_payload_malformed")
    signature = _attempt("receipt_signature_malformed", lambda: _sized(fields.get("signature"), 64))
    if "public_key_id" not in fields and "public_key" not in fields:
        raise ReceiptError("receipt_key_missing")
    public_key = None
    if "public_key" in fields:
        public_key = _attempt("receipt_key_mismatch", lambda: _sized(fields["public_key"], 32))
    kid = fields.get("public_key_id")
    if "public_key_id" in fields and not isinstance(kid, str):
        raise ReceiptError("receipt_key_mismatch")
    return ReceiptInput(payload, signature, kid, public_key, tuple(claims))


def _claims(fields: Mapping[str, Any], table: Mapping[str, str]) -> List[Claim]:
    found = []
    for name, field in table.items():
        if name not in fields:
            continue
        value = fields[name]
        if name == "type":
            # The type of a webhook's event names the outcome; no other claims anything about a receipt.
            if not isinstance(value, str) or not value.startswith("approval."):
                continue
            value = value[len("approval.") :]
        if name != "decision" or not isinstance(value, dict):
            found.append(Claim(name, field, value))
    return found


def _fields(value: Any) -> Optional[Dict[str, Any]]:
    return value if isinstance(value, dict) else None


def _utf8(value: Any) -> bytes:
    if not is_text(value):
        raise ReceiptError("receipt_payload_malformed")
    data: bytes = value.encode("utf-8")
    return data


def _sized(text: Any, length: int) -> bytes:
    data = from_base64(text)
    if len(data) != length:
        raise ValueError(f"not {length} bytes")
    return data


def _attempt(code: str, read: Callable[[], Result]) -> Result:
    try:
        return read()
    except (ValueError, OverflowError) as error:
        raise ReceiptError(code) from error
