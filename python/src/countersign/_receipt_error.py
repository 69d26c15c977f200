from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional

#: Every reason to refuse a receipt, with its sentence. The codes are stable, and the service's.
RECEIPT_ERRORS: Dict[str, str] = {
    "receipt_unreadable": "This is not a signed_receipt, a decision or a verify answer; pass one of these three exactly as you received it.",
    "receipt_not_decided": "This request is not decided, so there is no receipt; wait for the decision, unless it has expired.",
    "receipt_payload_malformed": "The signed payload cannot be decoded; it was truncated, re-encoded or altered.",
    "receipt_signature_malformed": "The signature is not the standard padded base64 of 64 bytes; it was truncated, re-encoded or altered.",
    "receipt_key_missing": "The receipt does not name its key; pass it together with its public_key_id.",
    "receipt_key_unknown": "The key of this receipt is not in the key set; get key sets only from the service itself, never together with a receipt. Fetch it again if the service has rotated its keys since.",
    "receipt_key_mismatch": "The key id and the public key in the receipt do not match.",
    "receipt_signature_invalid": "The signature does not match the payload and key; the receipt was altered or forged.",
    "receipt_payload_not_canonical": "The signed bytes are not RFC 8785 JSON, so this service did not write them.",
    "receipt_version_unsupported": "The payload has a format version this verifier does not know; update the verifier.",
    "receipt_payload_invalid": "The signed payload does not have exactly the fields of format 1.",
    "receipt_time_invalid": "The decision time is after the expiry of the request.",
    "receipt_key_purpose_mismatch": "The key may not sign this kind of receipt: live and sandbox decisions have different keys.",
    "receipt_key_not_yet_valid": "The decision time is before the key came into use.",
    "receipt_key_revoked": "The decision time is at or after the revocation of the key.",
    "receipt_key_expired": "The decision time is after the key went out of use.",
    "receipt_sandbox_refused": "This is a sandbox receipt: no person decided; allow sandbox receipts only in tests.",
    "receipt_intent_mismatch": "The nonce of the receipt does not commit to the intent next to it; the action and context in that intent are not signed.",
    "receipt_content_unproven": "The receipt is genuine, but its intent is missing, so nothing proves that it is about this action and context; pass the answer of GET /api/v1/approvals/:id exactly as you received it.",
    "receipt_contradicts_payload": "The data around the receipt differ from the signed data.",
    "receipt_votes_disagree": "The votes next to the receipt are invalid, or do not belong together.",
    "receipt_unexpected": "The receipt is genuine but is not the one expected here.",
    "receipt_from_future": "The decision time is in the future; check the clocks.",
}

_CONTRADICTED = {
    "action": "The action shown here is not the one that was signed.",
    "context": "The details (context) shown here are not those that were signed.",
}


@dataclass(frozen=True)
class Refusal:
    code: str
    message: str
    field: Optional[str] = None


class ReceiptError(Exception):
    """Raised while a receipt is read."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def refuse(code: str, field: Optional[str] = None) -> Refusal:
    if code == "receipt_contradicts_payload" and field is not None:
        said = _CONTRADICTED.get(field, f"The field \u201c{field}\u201d shown here is not what was signed.")
        return Refusal(code, said, field)
    return Refusal(code, RECEIPT_ERRORS[code], field)
