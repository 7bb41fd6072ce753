"""A made-up loom: topology, texts, times and authors as functions of a seed and a node's number.

Nodes are numbered in the order in which they were made: a parent comes before its children, times increase. Nothing
about a node is stored but its links (20 bytes), so that a million nodes need little memory and any writer can ask for
them in its own order.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from random import Random
from typing import Final, Literal

__all__ = ["Mix", "Shape", "SyntheticLoom"]

Shape = Literal["bushy", "chain"]

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [a + b for a in _CROCKFORD for b in _CROCKFORD]
_TRIPLES: Final = [a + pair for a in _CROCKFORD for pair in _PAIRS]
_MASK: Final = (1 << 64) - 1
_STREAM: Final = 1 << 19
_SYLLABLES: Final = ("ka", "lo", "mi", "ren", "tas", "vel", "or", "an", "the", "ish", "dun", "per", "so", "el", "quin")
_NAMES: Final = ("Ada", "Noor", "Ilse", "Tomé")
_MODELS: Final = ("example/large-2", "example/small-1", "other/base:free", "other/chat-7b")
# 2026-01-05T08:00:00Z in milliseconds, and the time from one node to the next.
_FIRST_MS: Final = 1_767_600_000_000
_STEP_MS: Final = 37_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """What the nodes hold: shares of texts in percent, and how often something occurs (0: never).

    `typographic` texts have curly quotes and dashes, `quoted` ones straight quotes and paragraphs (both escaped in
    JSON), `surrogates` end in half of a character. `agents` gives every author an id in a registry. `edge_ids` gives
    every edge an id of its own, as most exporters do.
    """

    typographic: int = 35
    emoji: int = 5
    quoted: int = 10
    surrogates: int = 0
    unknown_every: int = 5
    two_sources_every: int = 200
    bookmark_every: int = 20
    agents: bool = False
    edge_ids: bool = True


class SyntheticLoom:
    """One tree with root 0. All methods take a node's number and give the same answer each time."""

    def __init__(
        self, nodes: int, *, seed: int = 1, shape: Shape = "bushy", depth: int = 200, mix: Mix | None = None
    ) -> None:
        """`depth` bounds the tree (not a chain). Raises ValueError for less than one node."""
        if nodes < 1:
            raise ValueError("a tree has at least one node")
        self.nodes = nodes
        self.mix = mix or Mix()
        self._seed = seed * 0x9E3779B97F4A7C15 & _MASK
        self.parents = array("i", [-1])
        self.depths = array("i", [1])
        self._grow(Random(seed), shape, depth)
        self.first_child = array("i", [-1]) * nodes
        self.next_sibling = array("i", [-1]) * nodes
        for node in range(nodes - 1, 0, -1):
            parent = self.parents[node]
            self.next_sibling[node] = self.first_child[parent]
            self.first_child[parent] = node

    def _grow(self, random: Random, shape: Shape, depth: int) -> None:
        """Half of the nodes continue the one before, a third are its siblings, the others go back to any earlier."""
        parents, depths = self.parents, self.depths
        for node in range(1, self.nodes):
            parent = node - 1
            if shape == "bushy":
                chance = random.random()
                if chance > 0.8:
                    parent = random.randrange(node)
                elif chance > 0.5 and node > 1:
                    parent = parents[node - 1]
                while depths[parent] >= depth:
                    parent = random.randrange(max(1, parent))
            parents.append(parent)
            depths.append(depths[parent] + 1)

    def children(self, node: int) -> list[int]:
        """The node's children in sibling order."""
        found, child = [], self.first_child[node]
        while child >= 0:
            found.append(child)
            child = self.next_sibling[child]
        return found

    def leaf(self) -> int:
        """The end of the chain of first children from the root."""
        node = 0
        while self.first_child[node] >= 0:
            node = self.first_child[node]
        return node

    # -- what a node holds -------------------------------------------------------------------------------------

    def noise(self, node: int, purpose: int = 0) -> int:
        """64 bits that depend on the seed, the node and the purpose (splitmix64)."""
        value = (self._seed + (node * 8 + purpose + 1) * 0x9E3779B97F4A7C15) & _MASK
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
        return value ^ value >> 31

    def milliseconds(self, node: int) -> int:
        """When the node was made, in milliseconds since 1970; greater than that of every node before."""
        return _FIRST_MS + node * _STEP_MS + self.noise(node, 1) % 30_000

    def time(self, node: int) -> datetime:
        """The same as a time in UTC, without its milliseconds."""
        return datetime.fromtimestamp(self.milliseconds(node) // 1000, UTC)

    def iso_time(self, node: int) -> str:
        """The same as `2026-01-05T08:00:00.123Z`."""
        return f"{self.time(node):%Y-%m-%dT%H:%M:%S}.{self.milliseconds(node) % 1000:03d}Z"

    def is_model(self, node: int) -> bool:
        """Whether a model wrote the node: every second level from the first reply on."""
        return self.depths[node] % 2 == 0

    def name(self, node: int) -> str:
        """The name of the person who wrote the node."""
        return _NAMES[self.noise(node, 2) % len(_NAMES)]

    def model(self, node: int) -> str:
        """The model that wrote the node."""
        return _MODELS[self.noise(node, 2) % len(_MODELS)]

    def is_bookmarked(self, node: int) -> bool:
        """Whether the node is bookmarked."""
        return bool(self.mix.bookmark_every) and node % self.mix.bookmark_every == self.mix.bookmark_every - 1

    def vendor(self, node: int) -> dict[str, object] | None:
        """The value of a key that no specification knows, for some nodes."""
        if not self.mix.unknown_every or node % self.mix.unknown_every:
            return None
        noise = self.noise(node, 3)
        return {"score": noise % 1000 / 1000, "flags": ["seen", "kept"], "ref": noise >> 20, "note": None}

    def second_source(self, node: int) -> int | None:
        """A second source of the edge into the node, for some nodes."""
        every = self.mix.two_sources_every
        if not every or node < 2 or node % every:
            return None
        other = self.noise(node, 4) % node
        return other if other != self.parents[node] else (other + 1) % node

    def text(self, node: int) -> str:
        """The node's text, some 300 bytes of UTF-8."""
        noise, mix = self.noise(node, 5), self.mix
        kind = noise % 100
        plain, typographic, quoted = self._streams
        if kind < mix.typographic:
            stream = typographic
        else:
            stream = quoted if kind < mix.typographic + mix.quoted else plain
        start = stream.index(" ", (noise >> 8) % (len(stream) - 1000)) + 1
        text = stream[start : stream.index(" ", start + 190 + (noise >> 40) % 200)]
        other = (noise >> 50) % 100
        if other < mix.emoji:
            text += " \N{HERB}"
        if other >= 100 - mix.surrogates:
            text += " \ud83c"
        return text

    @cached_property
    def _streams(self) -> tuple[str, str, str]:
        """Endless prose to cut texts from: plain, with curly quotes and dashes, with straight quotes and paragraphs."""
        random = Random(self._seed)
        words = ["".join(random.choices(_SYLLABLES, k=random.randint(1, 4))) for _ in range(2000)]
        plain, curly, straight = [], [], []
        for number in range(_STREAM // 6):
            word = random.choice(words)
            if number % 11 == 0:
                word = word.capitalize()
            plain.append(word + "." if number % 11 == 10 else word)
            curly.append({2: f"“{word}", 6: f"{word}”", 9: f"{word} —"}.get(number % 23, word))
            straight.append({2: f'"{word}', 6: f'{word}"', 20: f"{word}.\n\n{word.title()}"}.get(number % 31, word))
        return " ".join(plain), " ".join(curly), " ".join(straight)

    # -- ids ---------------------------------------------------------------------------------------------------

    def ulid(self, node: int, purpose: int = 6) -> str:
        """An id of 26 characters, its time that of the node."""
        value = self.milliseconds(node) << 80 | (self.noise(node, purpose) << 16 | self.noise(node, 5) & 0xFFFF)
        return _PAIRS[value >> 120] + "".join(_TRIPLES[value >> shift & 0x7FFF] for shift in range(105, -1, -15))

    def uuid4(self, node: int) -> str:
        """A random UUID in upper case, as Swift prints it."""
        digits = f"{self.noise(node, 6):016X}{self.noise(node, 7):016X}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-A{digits[17:20]}-{digits[20:]}"

    def uuid1(self, node: int) -> str:
        """A UUID of version 1 made at the node's time, for an address that no network card has."""
        ticks = (self.milliseconds(node) + 12_219_292_800_000) * 10_000
        low, mid, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48
        return f"{low:08x}-{mid:04x}-1{high:03x}-8a5b-03{0x1EAF00C0DE:010x}"
