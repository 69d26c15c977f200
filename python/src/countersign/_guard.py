from __future__ import annotations

import inspect
import re
import string
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._ask import Question
from ._attachments import Attachment
from ._errors import Invalid
from ._json import canonical, copy_json, digest

#: Words with the names of parameters, such as ``"Refund {amount} to {customer}"``, or a function of the arguments.
Words = Union[str, Callable[..., str]]

#: Names the run and this call in it: each in such words, or both by one function of the arguments.
ForWords = Union[Tuple[Words, Words], Callable[..., Tuple[str, str]]]

Context = Callable[..., Mapping[str, Any]]

#: Called before the question and again before the use: what differs by then does not run.
Attachments = Callable[..., Sequence[Attachment]]



@dataclass(frozen=True)
class Held:
    """The arguments of one call, copied: JSON, and what a host passes besides."""

    listed: List[Any]
    #: The last of them holds what has a name only, as the object that a function in TypeScript takes for that.
    named: bool = False
    host: Tuple[Any, ...] = ()
    host_named: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> Tuple[List[Any], Dict[str, Any]]:
        """A copy for one callback, or for the run: whoever changes it changes nothing for the others."""
        listed = copy_json(self.listed, "arguments")
        named = listed.pop() if self.named else {}
        return [*listed, *self.host], {**named, **self.host_named}


class Guard:
    """Asks about one copy of a call's arguments, and gives another to the function. See ``Countersign.guard`` and ``tool``."""

    def __init__(
        self,
        run: Callable[..., Any],
        action: Optional[Words],
        for_: ForWords,
        context: Optional[Context],
        attachments: Optional[Attachments],
        how: Question,
        tool: Optional[str] = None,
    ) -> None:
        pair = for_ if isinstance(for_, (tuple, list)) else (for_,)
        words = [*pair] if tool and action is None else [*pair, action]
        if not all(callable(one) or (isinstance(one, str) and one) for one in words) or (
            len(pair) == 1 and not callable(for_)
        ):
            raise Invalid("`for_` must be (run, call) and `action` words, or functions of the arguments.")
        given = [one for one in (run, context, attachments) if one is not None]
        if run is None or len(pair) > 2 or not all(map(callable, given)):
            raise Invalid("what runs, `context` and `attachments` must be functions; `for_` must be (run, call).")
        try:
            self._signature = inspect.signature(run)
        except ValueError as error:
            raise Invalid(f"the parameters of {run!r} cannot be read: wrap it in a function.") from error
        self._tool = tool
        for one in words:
            if isinstance(one, str):
                self._check_names(one)
        self._action, self._for, self._context, self._how = action, for_, context, how
        self._attachments = attachments

    def hold(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Held:
        """:raises Invalid: for what JSON cannot hold; TypeError as the function would"""
        if self._tool is not None:
            if not args:
                raise Invalid("a tool takes its input as the first argument.")
            return Held([copy_json(args[0], "arguments[0]")], False, tuple(args[1:]), kwargs)
        bound = self._signature.bind(*args, **kwargs)
        # The person sees all that it runs with.
        bound.apply_defaults()
        named = [bound.kwargs] if bound.kwargs else []
        return Held(copy_json([*bound.args, *named], "arguments"), bool(named))

    def question(self, held: Held) -> Question:
        action, names = self._action, self._for
        if callable(names):
            args, kwargs = held.arguments()
            pair = names(*args, **kwargs)
        else:
            pair = (self._say(names[0], held), self._say(names[1], held))
        if action is None:
            said = describe(f"{self._tool} {canonical(held.listed[0])}")
        else:
            said = self._say(action, held)
        if isinstance(action, str):
            said = describe(said)
        attachments = self.attachments(held) or ()
        return replace(self._how, action=said, for_=pair, context=self._particulars(held), attachments=attachments)

    def attachments(self, held: Held) -> Optional[Sequence[Attachment]]:
        """As they are now; None where the guard has none."""
        if self._attachments is None:
            return None
        args, kwargs = held.arguments()
        return self._attachments(*args, **kwargs)

    def _particulars(self, held: Held) -> Mapping[str, Any]:
        if self._context is None:
            return (
                {"arguments": held.listed}
                if self._tool is None
                else {"tool": self._tool, "arguments": held.listed[0]}
            )
        args, kwargs = held.arguments()
        # The hash of the arguments goes along, so that the approval covers no others.
        return {**self._context(*args, **kwargs), "arguments_sha256": digest(held.listed)}

    def _say(self, words: Words, held: Held) -> str:
        args, kwargs = held.arguments()
        if callable(words):
            return words(*args, **kwargs)
        return words.format_map(self._signature.bind(*args, **kwargs).arguments)

    def _check_names(self, words: str) -> None:
        known = [] if self._tool else list(self._signature.parameters)
        try:
            names = [name for _, name, _, _ in string.Formatter().parse(words) if name is not None]
        except ValueError as error:
            raise Invalid(f"these words cannot be read: {words!r} ({error}).") from error
        for name in names:
            if re.split(r"[.\[]", name)[0] not in known:
                raise Invalid(f"{words!r} names no parameter by {{{name}}}.")


def describe(text: str) -> str:
    """At most 480 characters, without the control characters that the service refuses."""
    points = re.sub("[\x00-\x1f\x7f-\x9f]", " ", text)
    return points[:480] + ("…" if len(points) > 480 else "")
