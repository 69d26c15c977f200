"""Notes, checkpoints, proofs and policies of the log, as the service's signing/log reads them (C2SP)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ._json import LONE_SURROGATE, MOST
from ._strict import from_base64, public_key_problem, signature_holds

LOG_SIGNATURE, COSIGNATURE = 1, 4

#: The last second that a date of JavaScript can be, as in the service's note.ts.
LAST_SECOND = 8_640_000_000_000


class NoteError(ValueError):
    """The text is no signed note, verifier key, checkpoint or proof, or a signature of a known key is wrong."""


@dataclass(frozen=True)
class NoteKey:
    """``id``: the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key)."""

    name: str
    id: bytes
    type: int
    public_key: bytes


@dataclass(frozen=True)
class Note:
    text: str
    signatures: List[Tuple[str, bytes, bytes]]


_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")


def _decoded(text: str, problem: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError as error:
        raise NoteError(problem) from error


def _is_key_name(name: str) -> bool:
    odd = re.search("[\\s\ufeff+]", name) or _CONTROL.search(name) or LONE_SURROGATE.search(name)
    return name != "" and not odd


def parse_vkey(text: str) -> NoteKey:
    """:raises NoteError: unless it is exactly the text of its name and key"""
    problem = "a verifier key is <name>+<8 hex digits>+<base64>"
    parts = re.fullmatch(r"([^+]+)\+([0-9a-f]{8})\+([^\n]+)", text)
    if parts is None or not _is_key_name(parts[1]):
        raise NoteError(problem)
    data = _decoded(parts[3], problem)
    if data[:1] not in (b"\x01", b"\x04"):
        raise NoteError("keys of this signature type are not supported; 1 and 4 are")
    wrong = public_key_problem(data[1:])
    if wrong is not None:
        raise NoteError(f"the public key {wrong}")
    key_id = hashlib.sha256(parts[1].encode() + b"\n" + data).digest()[:4]
    if key_id.hex() != parts[2]:
        raise NoteError("the id in the verifier key is not that of its name and key")
    return NoteKey(parts[1], key_id, data[0], data[1:])


def parse_note(note: str) -> Note:
    """No signature is checked yet. :raises NoteError:"""
    if len(note) > 200_000:
        raise NoteError("the note is too long")
    if _CONTROL.search(note) or LONE_SURROGATE.search(note):
        raise NoteError("the note holds control characters")
    split = note.rfind("\n\n")
    if split < 1 or not note.endswith("\n"):
        raise NoteError("the note has no text or no signatures")
    lines = note[split + 2 : -1].split("\n")
    if len(lines) > 64:
        raise NoteError("the note has too many signatures")
    return Note(note[: split + 1], [_signature(line) for line in lines])


def _signature(line: str) -> Tuple[str, bytes, bytes]:
    malformed = 'a line of signature is "— <name> <base64>"'
    parts = re.fullmatch("— ([^ ]+) ([^ ]+)", line)
    if parts is None or not _is_key_name(parts[1]):
        raise NoteError(malformed)
    data = _decoded(parts[2], malformed)
    if len(data) < 5:
        raise NoteError(malformed)
    return parts[1], data[:4], data[4:]


def verify_note(note: Note, keys: Sequence[NoteKey]) -> List[NoteKey]:
    """
    The keys among these whose signature is there and holds; signatures of other keys are ignored.

    :raises NoteError: when the signature of one of these keys does not hold
    """
    held = []
    for name, key_id, data in note.signatures:
        for key in keys:
            if (key.name, key.id) != (name, key_id):
                continue
            signed, signature = note.text, data
            if key.type == COSIGNATURE:
                time = int.from_bytes(data[:8], "big")
                if len(data) != 72 or time > LAST_SECOND:
                    raise NoteError(f"the cosignature of {name} has a wrong length or time")
                signed, signature = f"cosignature/v1\ntime {time}\n{note.text}", data[8:]
            if not signature_holds(key.public_key, signed.encode(), signature):
                raise NoteError(f"the signature of {name} does not hold")
            held.append(key)
            break
    return held


def _count(text: str) -> int:
    # Python refuses to read thousands of digits, with an error of its own.
    if re.fullmatch("0|[1-9][0-9]{0,15}", text, re.ASCII) is None or int(text) > MOST:
        raise NoteError("not a number of entries")
    return int(text)


def _hash(text: str) -> bytes:
    data = _decoded(text, "not base64")
    if len(data) != 32:
        raise NoteError("a hash has 32 bytes")
    return data


def parse_checkpoint(text: str) -> Tuple[str, int, bytes]:
    """:returns: origin, size and root :raises NoteError: also for extension lines"""
    lines = text.split("\n")
    if len(lines) != 4 or lines[0] == "" or lines[3] != "":
        raise NoteError("a checkpoint is three lines: origin, size and root")
    return lines[0], _count(lines[1]), _hash(lines[2])


def parse_proof(text: str) -> Tuple[int, List[bytes], str]:
    """:returns: index, path and checkpoint :raises NoteError: also for an extra line, which nothing vouches for"""
    split = text.find("\n\n")
    lines = text[: max(split, 0)].split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1" or len(lines) < 2 or not lines[1].startswith("index ") or len(lines) > 65:
        raise NoteError("a proof begins with its version, its index and at most 63 hashes")
    return _count(lines[1][6:]), [_hash(line) for line in lines[2:]], text[split + 2 :]


def includes(entry: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """RFC 9162 section 2.1.3.2."""
    if index >= size:
        return False
    node, last, hashed = index, size - 1, hashlib.sha256(b"\x00" + entry).digest()
    for sibling in path:
        if last == 0:
            return False
        if node % 2 == 1 or node == last:
            hashed = hashlib.sha256(b"\x01" + sibling + hashed).digest()
            while node % 2 == 0 and node != 0:
                node, last = node >> 1, last >> 1
        else:
            hashed = hashlib.sha256(b"\x01" + hashed + sibling).digest()
        node, last = node >> 1, last >> 1
    return last == 0 and hashed == root


@dataclass(frozen=True)
class Policy:
    """Whose checkpoints count, and which witnesses must have cosigned them."""

    logs: List[NoteKey]
    witnesses: Dict[str, NoteKey]
    groups: Dict[str, Tuple[int, List[str]]]
    quorum: str

    def met(self, cosigned: Sequence[NoteKey]) -> bool:
        return self.quorum == "none" or self._met(self.quorum, cosigned)

    def _met(self, name: str, cosigned: Sequence[NoteKey]) -> bool:
        if name in self.witnesses:
            return self.witnesses[name] in cosigned
        threshold, members = self.groups[name]
        return sum(self._met(member, cosigned) for member in members) >= threshold


def parse_policy(text: str) -> Policy:
    """:raises ValueError: names the line"""
    draft = Policy([], {}, {}, "none")
    quorum: Optional[str] = None
    for number, line in enumerate(text.split("\n"), 1):
        words = [word for word in re.split("[ \t]+", line) if word]
        try:
            if re.search("[\x00-\x08\x0b-\x1f\x7f]", line):
                raise ValueError("control characters")
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "quorum":
                known = len(words) == 2 and (words[1] == "none" or _is_defined(draft, words[1]))
                if not known or quorum is not None:
                    raise ValueError('there is one quorum: one witness or group of the lines before, or "none"')
                quorum = words[1]
            else:
                _read_line(draft, words)
        except ValueError as error:
            raise ValueError(f"line {number} of the policy: {error}") from error
    if quorum is None:
        raise ValueError('the policy has no line "quorum"')
    return Policy(draft.logs, draft.witnesses, draft.groups, quorum)


def _is_defined(draft: Policy, name: str) -> bool:
    return name in draft.witnesses or name in draft.groups


def _read_line(draft: Policy, words: List[str]) -> None:
    kind, rest = words[0], words[1:]
    if kind == "log":
        draft.logs.append(_read_key(rest, LOG_SIGNATURE, draft.logs))
    elif kind in ("witness", "group"):
        if len(rest) < 2 or rest[0] == "none" or _is_defined(draft, rest[0]):
            raise ValueError("a name that is free is expected, and more")
        if kind == "witness":
            # One cosigner under two names would count twice.
            draft.witnesses[rest[0]] = _read_key(rest[1:], COSIGNATURE, list(draft.witnesses.values()))
        else:
            draft.groups[rest[0]] = _read_group(draft, rest[1], rest[2:])
    else:
        raise ValueError(f'"{kind}" is none of log, witness, group, quorum')


def _read_key(words: List[str], kind: int, others: Sequence[NoteKey]) -> NoteKey:
    if len(words) not in (1, 2):
        raise ValueError("a verifier key, and a URL or nothing, are expected")
    key = parse_vkey(words[0])
    if key.type != kind or any(other.public_key == key.public_key for other in others):
        raise ValueError(f"a key of signature type {kind} is expected that is there once")
    return key


def _read_group(draft: Policy, rule: str, members: List[str]) -> Tuple[int, List[str]]:
    taken = [name for _, group in draft.groups.values() for name in group]
    for at, member in enumerate(members):
        if not _is_defined(draft, member) or member in taken or member in members[:at]:
            raise ValueError(f'"{member}" is no free witness or group of the lines before')
    if not members or re.fullmatch("any|all|[1-9][0-9]*", rule, re.ASCII) is None:
        raise ValueError("a rule is any, all, or a number")
    threshold = 1 if rule == "any" else len(members) if rule == "all" else int(rule)
    if threshold > len(members):
        raise ValueError(f"a rule is any, all, or a number from 1 to {len(members)}")
    return threshold, members
