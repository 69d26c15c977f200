from __future__ import annotations

import base64
import builtins
import hashlib
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple

from ._errors import Invalid


@dataclass(frozen=True)
class Attachment:
    """
    A text or file that the person reads on the page: at most 10, of 256 KiB each and 1 MiB in all. It has either `text` or `bytes`, of
    which PNG, JPEG, GIF and WebP are shown.
    """

    #: One line of at most 200 characters, unlike the other names.
    name: str
    text: Optional[str] = None
    bytes: Optional[builtins.bytes] = None
    #: The name of the attachment with the former text: the page shows what changes.
    base: Optional[str] = None
    #: Follows from the content; ``file``: not shown, only offered for download.
    type: Optional[Literal["text", "diff", "image", "file"]] = None


def attach(given: object) -> Tuple[List[Dict[str, Any]], List[Dict[str, str]]]:
    """
    Writes attachments as they are sent, and what each is compared by: name, SHA-256 in hex, and base.

    :raises Invalid:
    """
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, Attachment) for one in given):
        raise Invalid("`attachments` must be a list of Attachment.")
    sent: List[Dict[str, Any]] = []
    hashed: List[Dict[str, str]] = []
    for one in given:
        texts = (one.name, *(text for text in (one.text, one.base, one.type) if text is not None))
        if not all(isinstance(text, str) for text in texts):
            raise Invalid("the name, text, base and type of an attachment must be texts.")
        if (one.text is None) is not isinstance(one.bytes, (bytes, bytearray)):
            raise Invalid("an attachment has either `text` or `bytes`.")
        content = one.text.encode("utf-8", "surrogatepass") if one.text is not None else bytes(one.bytes)
        part = {"text": one.text} if one.text is not None else {"base64": base64.b64encode(content).decode()}
        more = {"base": one.base, "type": one.type}
        sent.append({"name": one.name, **part, **{name: text for name, text in more.items() if text is not None}})
        hashed.append(compared({**vars(one), "sha256": hashlib.sha256(content).hexdigest()}))
    return sent, hashed


def compared(attachment: Mapping[str, Any]) -> Dict[str, str]:
    """What the service says of an attachment, without what follows from it."""
    kept = {name: attachment.get(name) for name in ("name", "sha256", "base")}
    return {name: str(value) for name, value in kept.items() if value}


def hashes_of(hashed: Sequence[Mapping[str, str]]) -> List[str]:
    return [one.get("sha256", "") for one in hashed]
