"""Checks bundles (``countersign.receipt.json``) without the service. Needs the package's extra ``[verify]`` (cryptography)."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Literal, Mapping, NamedTuple, Optional, Tuple, Union

from ._assertion import failed_check, usual_client_data
from ._checks import Options, Valid, examine_input, sha256_hex
from ._jwks import Key, read_jwks
from ._log import Note, NoteError, Policy, includes, parse_checkpoint, parse_note, parse_policy, parse_proof, verify_note
from ._receipt_error import ReceiptError, Refusal, refuse
from ._receipt_input import parse_receipt_input
from ._strict import canonicalize, from_base64, is_text, parse_canonical
from ._votes import MAX_VOTES, cautions_about, problem_of_votes
from .verify import _NoBoolean, _read

__all__ = ["BundleCheck", "BundleVerdict", "GoodBundle", "RefusedBundle", "verify_bundle"]

#: The checks, in order.
_CHECKS = (
    *("shape", "receipt", "intent", "context", "expected", "challenge", "origin", "rp_id", "presence", "assertion"),
    *("votes", "inclusion", "enrolment", "checkpoint", "witnesses"),
)
_ASSERTION = {
    "challenge": "The passkey signed something other than this intent.",
    "origin": "The passkey was used on a page of another origin, or in a frame.",
    "rp_id": "The passkey is registered for another service.",
    "presence": "The authenticator did not verify a person.",
    "assertion": "The signature of the passkey does not hold.",
}


class BundleCheck(NamedTuple):
    """A check that was made, and what it found; ``absent``: there was nothing of that kind to check."""

    check: str
    outcome: str


@dataclass(frozen=True)
class GoodBundle(_NoBoolean):
    """
    ``approved`` and ``rejected``: the bundle is good and says so. ``unmet``: it is genuine, but less than the policy asks for. Act
    only on ``approved``.
    """

    verdict: Literal["approved", "rejected", "unmet"]
    request_id: str
    decision_id: str
    #: A reference, no name.
    approver: str
    method: Literal["passkey", "totp", "sandbox"]
    decided_at: datetime.datetime
    #: Reasons for doubt, such as a key that was revoked later.
    cautions: Tuple[str, ...]
    votes: int
    #: Whether every vote is proven by a passkey's own signature; else some rest on the service alone.
    by_passkeys: bool
    #: The service that asked, by its BASE_URL.
    service: str
    #: Names of the witnesses of the policy that have seen the log.
    witnesses: Tuple[str, ...]
    checks: Tuple[BundleCheck, ...]
    #: Of ``unmet``: what is missing.
    message: Optional[str] = None


@dataclass(frozen=True)
class RefusedBundle(_NoBoolean):
    code: str
    message: str
    checks: Tuple[BundleCheck, ...]
    verdict: Literal["refused"] = "refused"


BundleVerdict = Union[GoodBundle, RefusedBundle]


class _Broken(Exception):
    def __init__(self, check: str, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.check, self.code = check, code or f"bundle_{check}"


def verify_bundle(
    bundle: Union[str, bytes],
    key_set: Any,
    policy: Optional[str] = None,
    *,
    service: Optional[str] = None,
    enrolment: bool = False,
    request: Optional[str] = None,
    action: Optional[str] = None,
    context: Optional[Mapping[str, Any]] = None,
    audience: Optional[str] = None,
    account: Optional[str] = None,
    allow_sandbox: bool = False,
    now: Optional[datetime.datetime] = None,
) -> BundleVerdict:
    """
    Checks a bundle: the same checks as ``countersign verify``, in the same order. What is left out is not compared.

    :param bundle: the text, byte for byte
    :param key_set: what ``/.well-known/jwks.json`` of your service answered, or its text: never one that came with the bundle
    :param policy: the logs and witnesses that you trust (C2SP tlog-policy); without it no log is needed
    :param service: the BASE_URL of the service that must have asked
    :param enrolment: whether a log of the policy must say of every vote that its passkey is the approver's; if not, ``unmet``
    :param now: with a time zone; instead of the machine's clock
    :raises ValueError: for a key set or policy that cannot be used, an expected context that JSON cannot hold, and a time
        without a zone
    :raises ImportError: without ``cryptography``
    """
    if now is not None and now.tzinfo is None:
        raise ValueError("now needs a time zone")
    at = datetime.datetime.now(datetime.timezone.utc) if now is None else now
    text = None if context is None else canonicalize(dict(context))
    options = Options(allow_sandbox is True, at.timestamp(), request, action, text, audience, account)
    trusted = None if policy is None else parse_policy(policy)
    return _Run(read_jwks(_read(key_set)), trusted, options, service, enrolment is True).verify(bundle)


class _Run:
    def __init__(
        self,
        keys: List[Key],
        policy: Optional[Policy],
        options: Options,
        service: Optional[str],
        enrolment: bool,
    ) -> None:
        self.keys, self.policy, self.options, self.service = keys, policy, options, service
        self.enrolment = enrolment
        self.done: Dict[str, str] = {}

    def verify(self, text: Union[str, bytes]) -> BundleVerdict:
        try:
            bundle = _read_bundle(text)
            self.done["shape"] = "passed"
            votes = _votes_in(bundle)
            held = [self._vote(vote, bundle.get("context")) for vote in votes]
            problem = problem_of_votes(held[-1], held, [], True)
            if problem is not None:
                raise _Broken("votes", problem)
            passkeys = [vote["passkey"]["key"] for vote in votes if "passkey" in vote]
            if len(set(passkeys)) < len(passkeys):
                raise _Broken("votes", "One passkey is counted twice.")
            self.done["votes"] = "passed"
            witnesses, unmet = self._place(bundle, held)
        except _Broken as broken:
            # Of several votes, an earlier one may have come further.
            for later in _CHECKS[_CHECKS.index(broken.check) :]:
                self.done.pop(later, None)
            self.done[broken.check] = "failed"
            return RefusedBundle(broken.code, str(broken), self._checks())
        said = held[-1].payload
        return GoodBundle(
            said["decision"] if unmet is None else "unmet",
            said["rid"],
            said["did"],
            said["approver"],
            said["method"],
            datetime.datetime.fromtimestamp(said["ts"], datetime.timezone.utc),
            tuple(cautions_about(held[-1], held)),
            len(held),
            all("passkey" in vote for vote in votes),
            _intent_of(bundle).get("aud", ""),
            witnesses,
            self._checks(),
            unmet,
        )

    def _checks(self) -> Tuple[BundleCheck, ...]:
        return tuple(BundleCheck(check, self.done[check]) for check in _CHECKS if check in self.done)

    def _vote(self, vote: Mapping[str, Any], context: Optional[str]) -> Valid:
        result = self._receipt(vote, context)
        expects = (self.options.request, self.options.action, self.options.context)
        more = (self.options.audience, self.options.account, self.service)
        is_held = any(one is not None for one in (*expects, *more))
        self.done.update(receipt="passed", intent="passed", context="absent" if context is None else "passed")
        self.done["expected"] = "passed" if is_held else "absent"
        signed = _signed_by(vote)
        if signed is None:
            return result
        passkey, challenge, origin = signed
        failed: Optional[str] = "challenge"
        if "batch" not in passkey or _lists_intent(passkey["batch"], vote["intent"], result.payload):
            failed = failed_check(passkey, challenge, origin)
        for check in _ASSERTION:
            if check == failed:
                raise _Broken(check, _ASSERTION[check])
            self.done[check] = "passed"
        return result

    def _receipt(self, vote: Mapping[str, Any], context: Optional[str]) -> Valid:
        receipt = _receipt_of(vote)
        if receipt is None:
            raise _Broken("intent", "The intent is not the statement of a decision.")
        try:
            read = replace(parse_receipt_input(receipt), intent=vote["intent"], context=context)
        except ReceiptError as error:
            refused = refuse(error.code)
            raise _Broken("receipt", refused.message, refused.code) from error
        result = examine_input(read, self.keys, self.options)
        if isinstance(result, Refusal):
            raise _Broken(_check_of(result), result.message, result.code)
        if result.unproven:
            raise _Broken("expected", refuse("receipt_unexpected").message, "receipt_unexpected")
        if self.service is not None and _intent_of(vote).get("aud") != self.service:
            raise _Broken("expected", "Another service asked for this decision.", "receipt_unexpected")
        return result

    def _place(self, bundle: Mapping[str, Any], held: List[Valid]) -> Tuple[Tuple[str, ...], Optional[str]]:
        """The witnesses, and what is missing."""
        log = bundle.get("log")
        is_asked = self.policy is not None or self.enrolment
        if log is None:
            self._note_enrolment(bundle, False)
            if not is_asked:
                return (), None
            self.done["inclusion"] = "unmet"
            return (), "The bundle has no place in a log. Get it again with log=logged, or log=witnessed."
        check = "inclusion"
        try:
            origin, note = _included(bundle, log)
            self.done[check] = "passed"
            check = "enrolment"
            self._note_enrolment(bundle, _are_enrolled(bundle, log, held))
            check = "checkpoint"
            # Said, since whoever passes the bundle on could have made the tree.
            if not is_asked:
                self.done[check] = "absent"
            witnesses, unmet = self._trust_in(note, origin) if is_asked else ((), None)
        except NoteError as error:
            what = "The registration of a passkey" if check == "enrolment" else "The proof of the log"
            raise _Broken(check, f"{what} does not hold: {error}.") from error
        if unmet is None and self.done.get("enrolment") == "unmet":
            unmet = (
                "The log does not say of every vote that its passkey is the approver\u2019s. "
                "Get the bundle again with enrolment=1."
            )
        return witnesses, unmet

    def _note_enrolment(self, bundle: Mapping[str, Any], enrolled: bool) -> None:
        if enrolled or self.enrolment:
            self.done["enrolment"] = "passed" if enrolled else "unmet"
        elif any("passkey" in vote for vote in _votes_in(bundle)):
            self.done["enrolment"] = "absent"

    def _trust_in(self, note: Note, origin: str) -> Tuple[Tuple[str, ...], Optional[str]]:
        # A log whose key was rotated has several under its name.
        logs = [] if self.policy is None else [key for key in self.policy.logs if key.name == origin]
        if self.policy is None or not logs:
            self.done["checkpoint"] = "unmet"
            if self.policy is None:
                return (), "Only a log that a policy trusts can say whose passkey signed, and there is no policy."
            return (), "The policy does not trust the log that the proof is from."
        signed = verify_note(note, [*logs, *self.policy.witnesses.values()])
        if not any(key in logs for key in signed):
            raise NoteError("the log did not sign it")
        self.done["checkpoint"] = "passed"
        met = self.policy.met(signed)
        # Nobody need have seen it: to say that enough have would be a claim that nothing backs.
        none = self.policy.quorum == "none"
        self.done["witnesses"] = "absent" if none else "passed" if met else "unmet"
        names = tuple(key.name for key in signed if key not in logs)
        return names, None if met else "Fewer witnesses have seen the log than the policy asks for."


def _check_of(refusal: Refusal) -> str:
    if refusal.code == "receipt_unexpected":
        return "expected"
    if refusal.code == "receipt_intent_mismatch":
        return "intent"
    return "context" if refusal.field == "context" else "receipt"


def _intent_of(vote: Mapping[str, Any]) -> Dict[str, Any]:
    try:
        intent = parse_canonical(vote["intent"])
    except ValueError:
        return {}
    return intent if isinstance(intent, dict) else {}


def _signed_by(vote: Mapping[str, Any]) -> Optional[Tuple[Dict[str, Any], bytes, str]]:
    """What the passkey of a vote signed, with the client data in full, and the challenge and origin that it must have been about."""
    passkey = vote.get("passkey")
    if passkey is None:
        return None
    challenge = hashlib.sha256(passkey.get("batch", vote["intent"]).encode()).digest()
    aud = _intent_of(vote).get("aud")
    origin = aud if isinstance(aud, str) else ""
    return {"client_data": usual_client_data(challenge, origin), **passkey}, challenge, origin


def _receipt_of(vote: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The payload follows from the intent; None for an intent from which none follows."""
    intent, receipt = _intent_of(vote), vote["receipt"]
    action = intent.get("action")
    shared = {name: intent.get(name) for name in ("rid", "approver", "decision", "exp")}
    if not isinstance(action, str) or not is_text(action) or None in shared.values():
        return None
    method = "passkey" if "passkey" in vote else "totp" if "totp" in vote else "sandbox"
    said = {
        "v": 1,
        **shared,
        "did": receipt["did"],
        "action": sha256_hex(action)[:16],
        "method": method,
        "ts": receipt["ts"],
        "nonce": sha256_hex(vote["intent"])[:32],
        **({"sandbox": True} if method == "sandbox" else {}),
    }
    return {
        "canonical_payload": canonicalize(said),
        "signature": receipt["signature"],
        "public_key_id": receipt["public_key_id"],
    }


def _lists_intent(batch: str, intent: str, payload: Mapping[str, Any]) -> bool:
    """Whether the gesture's statement is of this person and service, and lists this intent."""
    try:
        said, stated = parse_canonical(batch), parse_canonical(intent)
    except ValueError:
        return False
    items = said.get("items") if isinstance(said, dict) else None
    if not isinstance(items, list) or said.get("typ") != "human-approval/batch/v1":
        return False
    own = [item for item in items if isinstance(item, dict) and item.get("rid") == payload["rid"]]
    listed = len(own) == 1 and own[0].get("intent_sha256") == sha256_hex(intent)
    theirs = said.get("approver") == stated.get("delegate", payload["approver"])
    same_service = said.get("aud") == stated.get("aud")
    return listed and own[0].get("decision") == payload["decision"] and theirs and same_service


def _votes_in(bundle: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """All votes, the closing one last."""
    return [*bundle.get("votes", []), bundle]


def _included(bundle: Mapping[str, Any], log: Mapping[str, Any]) -> Tuple[str, Note]:
    index, path, checkpoint = parse_proof(log["proof"])
    note = parse_note(checkpoint)
    origin, size, root = parse_checkpoint(note.text)
    votes = _votes_in(bundle)
    # The log commits to the passkeys, too: the receipts name none.
    proofs = [{"passkey": signed[0]} if signed else {} for signed in map(_signed_by, votes)]
    receipts = [{**(_receipt_of(vote) or {}), **proof} for vote, proof in zip(votes, proofs)]
    entry = _entry_of(log["record"], receipts[0] if len(receipts) == 1 else receipts)
    if not includes(entry, index, size, root, path):
        raise NoteError("the decision is not in the tree of its checkpoint")
    return origin, note


def _entry_of(record: str, subject: Any) -> bytes:
    try:
        content = from_base64(record, url=True)
    except ValueError as error:
        raise NoteError("the record is not a hash") from error
    if len(content) != 32:
        raise NoteError("the record is not a hash")
    return content + hashlib.sha256(canonicalize(subject).encode()).digest()


def _are_enrolled(bundle: Mapping[str, Any], log: Mapping[str, Any], held: List[Valid]) -> bool:
    """
    Whether every vote has a registration. Each that is there must be of that passkey, by that person, in the tree of the decision,
    and before it.
    """
    index, _, checkpoint = parse_proof(log["proof"])
    _, size, root = parse_checkpoint(parse_note(checkpoint).text)
    votes = _votes_in(bundle)
    for vote, valid in zip(votes, held):
        if "enrolment" not in vote:
            continue
        enrolment = vote["enrolment"]
        subject = enrolment["subject"]
        if subject["public_key"] != vote["passkey"]["key"]:
            raise NoteError("it is of another passkey")
        if subject["approver"] != valid.acted:
            raise NoteError("it is of another person")
        place, path, own = parse_proof(enrolment["proof"])
        if own != checkpoint:
            raise NoteError("it is under another checkpoint than the decision")
        if place >= index:
            raise NoteError("it came after the decision")
        if not includes(_entry_of(enrolment["record"], subject), place, size, root, path):
            raise NoteError("it is not in the tree of the checkpoint")
    return all("enrolment" in vote for vote in votes)


#: Members of each object: those it must have, and those it may have.
_SHAPES: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    "receipt": (("did", "ts", "signature", "public_key_id"), ()),
    "passkey": (("key", "authenticator_data", "signature"), ("client_data", "batch")),
    "totp": (("checked_by",), ()),
    "log": (("record", "proof"), ()),
    "enrolment": (("record", "subject", "proof"), ()),
    "subject": (("aaguid", "approver", "attestation", "credential_id", "public_key"), ()),
    "vote": (("receipt", "intent"), ("passkey", "totp", "enrolment")),
    "bundle": (("format", "receipt", "intent"), ("passkey", "totp", "enrolment", "context", "votes", "log")),
}


def _read_bundle(text: Union[str, bytes]) -> Dict[str, Any]:
    """Every object is closed, and the text is exactly the RFC 8785 form of the bundle."""
    try:
        value = parse_canonical(text.decode("utf-8") if isinstance(text, bytes) else text)
    except ValueError as error:
        message = (
            "This is not the text of a bundle; download that with GET \u2026/receipt, "
            "and pass it on byte for byte, never formatted."
        )
        raise _Broken("shape", message) from error
    if not isinstance(value, dict) or value.get("format") != "countersign.receipt/v1":
        raise _Broken("shape", "This is not a bundle of the format countersign.receipt/v1.")
    fault = _fault(value)
    if fault is not None:
        raise _Broken("shape", f"\u201c{fault}\u201d is missing, has another form or does not belong here.")
    return value


def _fault(bundle: Dict[str, Any]) -> Optional[str]:
    others = bundle.get("votes", [])
    if "context" in bundle and not is_text(bundle["context"]):
        return "context"
    if "log" in bundle and not _are_texts(bundle["log"], "log"):
        return "log"
    if not isinstance(others, list) or len(others) > MAX_VOTES or ("votes" in bundle and not others):
        return "votes"
    # Under which checkpoint a registration is, only the place of the decision says.
    if "log" not in bundle and any(isinstance(vote, dict) and "enrolment" in vote for vote in (bundle, *others)):
        return "enrolment"
    wrong = [at for at, vote in enumerate(others) if _fault_of_vote(vote, "vote") is not None]
    return _fault_of_vote(bundle, "bundle") or (f"votes[{wrong[0]}]" if wrong else None)


def _fault_of_vote(vote: Any, shape: str) -> Optional[str]:
    odd = _odd_member(vote, shape)
    if odd is not None:
        return odd
    receipt = vote["receipt"]
    if _odd_member(receipt, "receipt") is not None:
        return "receipt"
    ts = receipt["ts"]
    texts = (receipt[name] for name in ("did", "signature", "public_key_id"))
    if isinstance(ts, bool) or not isinstance(ts, int) or not all(map(is_text, texts)):
        return "receipt"
    if not is_text(vote["intent"]):
        return "intent"
    if "passkey" in vote and ("totp" in vote or not _are_texts(vote["passkey"], "passkey")):
        return "passkey"
    if "totp" in vote and vote["totp"] != {"checked_by": "service"}:
        return "totp"
    if "enrolment" in vote and not ("passkey" in vote and _is_enrolment(vote["enrolment"])):
        return "enrolment"
    return None


def _is_enrolment(value: Any) -> bool:
    if _odd_member(value, "enrolment") is not None or _odd_member(value["subject"], "subject") is not None:
        return False
    subject = value["subject"]
    known = [fact for name, fact in subject.items() if fact is not None or name not in ("aaguid", "attestation")]
    return all(map(is_text, (value["record"], value["proof"], *known)))


def _odd_member(value: Any, shape: str) -> Optional[str]:
    if not isinstance(value, dict):
        return shape
    must, may = _SHAPES[shape]
    missing = [name for name in must if name not in value]
    foreign = [name for name in value if name not in must and name not in may]
    return next(iter(missing + foreign), None)


def _are_texts(value: Any, shape: str) -> bool:
    return _odd_member(value, shape) is None and all(map(is_text, value.values()))
