"""A receipt with the votes next to it, as the service's votes.ts judges them: one refusal refuses all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._checks import Result, Valid
from ._receipt_error import Refusal, refuse
from ._restore import iso

#: More votes than a request can ever need.
MAX_VOTES = 100

#: Fields around a decision that also apply to each of its votes. The status does not: it is the outcome of all votes.
SHARED = ("id", "request_id", "action", "context", "expires_at", "sandbox")

#: Fields that mark an object as a receipt, even a broken one: only an approval with none of them is an unsigned vote.
OF_RECEIPTS = (
    "signed_payload",
    "canonical_payload",
    "signature",
    "public_key_id",
    "public_key",
    "signed_receipt",
    "payload",
)


@dataclass(frozen=True)
class Receipts:
    decision: Optional[Dict[str, Any]]
    votes: List[Dict[str, Any]]
    #: The approver of each approval without a signature, if that is a reference: a rejected request has such.
    unsigned: List[Optional[str]]
    listed: bool


Judged = Tuple[Result, List[Valid]]


def judge_together(json: Any, check: Callable[[Any], Result]) -> Judged:
    parts = split_votes(json)
    shown = parts.decision if parts.decision is not None else (parts.votes or [{}])[0]
    alone = check(shown)
    if isinstance(alone, Refusal):
        return _named(shown, alone), []
    if len(parts.votes) + len(parts.unsigned) > MAX_VOTES:
        return _disagreement(f"There are more than {MAX_VOTES} votes."), []
    checked = [check(vote) for vote in parts.votes]
    decision = alone if parts.decision is not None else None
    problem = problem_of_votes(decision, checked, parts.unsigned, parts.listed)
    if problem is not None:
        return _disagreement(problem), []
    valid = [vote for vote in checked if isinstance(vote, Valid)]
    main = alone
    if decision is None and valid:
        # The vote that decided: the newest; of votes of the same second, the last one.
        latest = max(vote.payload["ts"] for vote in valid)
        main = [vote for vote in valid if vote.payload["ts"] == latest][-1]
    unproven = any(one.unproven for one in (main, *valid))
    return (replace(main, unproven=True) if unproven else main), valid


def _named(json: Dict[str, Any], refused: Refusal) -> Refusal:
    """Names the code of an error of the service that was saved in place of a receipt."""
    code = json.get("error")
    if not isinstance(code, str) or not re.fullmatch("[a-z_]{1,60}", code):
        return refused
    if any(name in json for name in ("decision", *OF_RECEIPTS)):
        return refused
    return replace(refused, message=f"This is an error answer of the service, not a receipt: {code}.")


def _disagreement(problem: str) -> Refusal:
    refused = refuse("receipt_votes_disagree", "votes")
    return replace(refused, message=f"{refused.message} {problem}")


def split_votes(whole: Any) -> Receipts:
    """Takes the votes out of a decision (`votes`), an answer or event with a decision, or a list of votes."""
    if isinstance(whole, (list, tuple)):
        return _sorted(None, [_as_object(one) for one in whole])
    outer = _out_of_event(_as_object(whole))
    decision = outer.get("decision")
    own = _list_in(outer)
    inner = _list_in(decision) if isinstance(decision, dict) else None
    # An empty list inside does not hide the one beside it.
    if inner is not None and (inner or own is None):
        around = {name: outer[name] for name in SHARED if name in outer}
        parts = _sorted(outer, inner)
        return replace(parts, votes=[{**around, "decision": vote} for vote in parts.votes])
    return Receipts(outer, [], [], False) if own is None else _sorted(outer, own)


def _out_of_event(json: Dict[str, Any]) -> Dict[str, Any]:
    """Unwraps an account webhook's body. With other fields beside `data`, people could read those."""
    kind, data = json.get("type"), json.get("data")
    is_event = isinstance(kind, str) and kind.startswith("approval.")
    if is_event and isinstance(data, dict) and all(name in ("id", "type", "created_at", "data") for name in json):
        return {**data, "type": kind}
    return json


def _sorted(decision: Optional[Dict[str, Any]], votes: Sequence[Dict[str, Any]]) -> Receipts:
    signed: List[Dict[str, Any]] = []
    unsigned: List[Optional[str]] = []
    for vote in votes:
        if vote.get("decision") == "approved" and not any(name in vote for name in OF_RECEIPTS):
            approver = vote.get("approver")
            named = isinstance(approver, str) and re.fullmatch("[0-9a-f]{16}", approver)
            unsigned.append(approver if named else None)
        else:
            signed.append(vote)
    return Receipts(decision, signed, unsigned, True)


def problem_of_votes(
    decision: Optional[Valid], votes: Sequence[Result], unsigned: Sequence[Optional[str]], listed: bool
) -> Optional[str]:
    """Why votes, each judged alone before, do not belong together; None when they do, or when there is no list."""
    if not votes and not unsigned:
        return _too_few(decision, [decision], 0) if listed and decision else None
    valid = [vote for vote in votes if isinstance(vote, Valid)]
    payloads = [vote.payload for vote in valid]
    if len(valid) < len(votes):
        return "One of the votes is invalid."
    if len({one["rid"] for one in payloads}) > 1:
        return "The votes are about different requests."
    if len({one["did"] for one in payloads}) < len(payloads):
        return "One vote is there twice."
    people = [{one["approver"] for one in payloads}, {vote.acted for vote in valid}]
    if any(len(different) < len(payloads) for different in people):
        return "One person is counted twice."
    outcomes = {one["decision"] for one in payloads}
    if len(outcomes) > 1:
        return "One of the votes is a rejection, so the request was rejected and no approval of it was signed."
    if unsigned and outcomes == {"approved"}:
        return "One of the votes is not signed, as only the approvals of a rejected request are."
    # The service alone could have had two people agree to two things under one request.
    for part in (0, 1):
        if len({vote.asked[part] for vote in valid if len(vote.asked) > part}) > 1:
            return "The votes are about different statements."
    few = _too_few(valid[0] if valid else None, [*valid, *([decision] if decision else [])], len(valid))
    if few is not None or decision is None:
        return few
    main = decision.payload
    if not any(one["did"] == main["did"] and one["nonce"] == main["nonce"] for one in payloads):
        return "The decision is not among the votes."
    return None


def _too_few(one: Optional[Valid], all: Sequence[Valid], came: int) -> Optional[str]:
    """A quorum of one needs no list, so an empty list beside it proves nothing."""
    if one is None or one.payload["decision"] != "approved":
        return None
    quorum = max(_quorum(result) for result in all)
    if came >= quorum or quorum == 1:
        return None
    return f"The statement requires {quorum} approvals; only {came} came with the receipt."


def _quorum(result: Valid) -> int:
    quorum: int = result.stated["quorum"] if result.stated else 1
    return quorum


def cautions_about(result: Valid, votes: Sequence[Valid]) -> List[str]:
    """Cautions about a receipt that is valid, as are all votes next to it."""
    cautions = []
    revoked = next((one.key_revoked_at for one in (result, *votes) if one.key_revoked_at is not None), None)
    if revoked is not None:
        whose = "The key of one vote" if result.key_revoked_at is None else "The key"
        cautions.append(
            f"{whose} was revoked later, at {iso(revoked)}. A thief could have back-dated this receipt; look for other evidence."
        )
    quorum = _quorum(result)
    if not votes and result.payload["decision"] == "approved" and quorum != 1:
        cautions.append(
            f"Only 1 of the {quorum} approvals that the statement requires is here. "
            'Get the whole answer: its list "votes" has all of them.'
        )
    restored = next((one.restore_caution for one in (result, *votes) if one.restore_caution is not None), None)
    return cautions if restored is None else [*cautions, restored]


def _list_in(decision: Dict[str, Any]) -> Optional[List[Dict[str, Any]]]:
    """The list of votes. Anything but a list counts as one invalid vote; null counts as an empty list."""
    if "votes" not in decision:
        return None
    votes: Union[None, Any] = decision["votes"]
    if votes is None:
        return []
    return [_as_object(one) for one in votes] if isinstance(votes, (list, tuple)) else [{}]


def _as_object(value: Any) -> Dict[str, Any]:
    """A value that is no object, and so no receipt, becomes an empty object, which is refused."""
    return value if isinstance(value, dict) else {}
