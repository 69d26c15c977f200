from __future__ import annotations

import datetime
from typing import Optional, Sequence, Tuple

#: The longest time that a request waits for its decision, in seconds.
LONGEST_WAIT = 604_800

#: A receipt is signed a moment before it is stored, and the time of a copy may be that of another machine's clock; in seconds.
UNSURE = 60


def restore_caution(
    rid: str, ts: int, exp: int, key_since: int, created: Optional[int], restores: Sequence[Tuple[int, int]]
) -> Optional[str]:
    """
    Says of a valid receipt that, because of a restore, another one may contradict it; None if it does not. Each restore lets new
    keys sign: an older key that signed after the copy did so in the part of the history that is lost.
    """
    found = [_caution(rid, ts, exp, key_since, created, copied, restored) for copied, restored in restores]
    cautions = [caution for caution in found if caution is not None]
    return cautions[-1] if cautions else None


def _caution(
    rid: str, ts: int, exp: int, key_since: int, created: Optional[int], copied: int, restored: int
) -> Optional[str]:
    said = f"The store was restored on {iso(restored)} from a copy of {iso(copied)}"
    if key_since < restored:
        if ts < copied - UNSURE:
            return None
        return (
            f"{said}. This receipt may be missing in that copy, so the service may not know it, and another decision on the "
            "request may be signed."
        )
    if created is not None:
        if created >= restored:
            return None
        return f"{said} in which this request was pending: another decision on it may have been signed in between."
    if exp - LONGEST_WAIT >= restored:
        return None
    return (
        f"{said}. The receipt alone does not show whether the request was pending in it, so that another decision may have been "
        f"signed: ask GET /api/v1/approvals/{rid}/verify."
    )


def iso(seconds: int) -> str:
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return f"second {seconds}"
    return at.isoformat() + ".000Z"
