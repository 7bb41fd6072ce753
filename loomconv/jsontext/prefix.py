"""What the first part of a file says, for telling formats apart."""

from __future__ import annotations

from typing import Any

import msgspec

from loomconv.jsontext.places import Bytes
from loomconv.jsontext.values import float_from_token

__all__ = ["parse_prefix"]

_DECODER = msgspec.json.Decoder(float_hook=float_from_token)


def parse_prefix(head: Bytes) -> Any:
    """The value that the first part of a JSON text holds, as far as it can be read; `NOTHING` if there is none.

    Reading stops at the end or at the first error; a string value that is cut there is kept in part, a key without a
    value and a cut number are left out. `NaN` and the infinities are None; what follows the value is not looked at, so
    of JSON Lines this is the first line. Never raises. Cost: as of `parse_exact`, or of msgspec if `head` is complete.
    """
    if bytes(head[-2:]).rstrip().endswith((b"}", b"]")):
        try:
            return _DECODER.decode(head)
        except (msgspec.DecodeError, RecursionError):
            pass  # it is only the quick way to the same answer
    from loomconv.jsontext.closer_look import Fault
    from loomconv.jsontext.exact_reader import Reader, decoded

    reader = Reader(decoded(head, complete=False), non_finite="null", max_depth=None)
    try:
        reader.run()
    except Fault as fault:
        if fault.partial is not None:
            return reader.with_partial(fault.partial)
    return reader.root
