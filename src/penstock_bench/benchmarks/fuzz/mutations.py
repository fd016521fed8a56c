"""Ways to damage a document: its structure, its values, and the bytes it is written in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from penstock_bench.benchmarks.fuzz.emit import Pairs, Raw, emit

#: Keys and indices from the root.
Place = tuple[Any, ...]
#: Changes a document in place at random; says whether it found something to change.
Mutation = Callable[[Random, Any], bool]

#: What few readers expect where a number stands.
_NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 0.5, -0.0, 1e-300, 5e-324, 1e9, 1e14, 1e30, 1e308, 2**31, 2**53 + 1, 2**63),
    *(2**64, -(2**63) - 1, 10**25, float("nan"), float("inf"), float("-inf"), True, "1", None),
    *(Raw("1e999"), Raw("-1e999"), Raw("9" * 400), Raw("9" * 5000), Raw("1" + "0" * 30)),
)
_TEXTS: tuple[str, ...] = (
    *("", " ", "a/b", "../../up", "/", ".", "..", "\n", "\t", "x" * 300, "x" * 70_000, "é→"),
    *("\u202eabc", "${a}", "${ENV-HOME}", "%s%n", "{0}", "\x00", "\x07", "\x1b[31m", "\x9b31m"),
    *("\ud800", "\ufeff"),
    *("1", "true", "null", "nan", "[bold]", ":smile:", "<script>", "'", '"', "a,b", "a=b", "-o"),
    *("__proto__", "default", "spout", "all", "fields", "M1", "🙂" * 50),
)
#: What another value of is refused at once.
_HEAD = ("format", "version")
_OTHER_TYPES: tuple[Any, ...] = (
    *(None, True, 0, 1.5, "", "word", [], {}, [[]], [None], {"": 1}, {"a": {}}, [1, "a", {}]),
)


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    """Every place below the root."""
    pairs: Any = ()
    if isinstance(document, dict):
        pairs = document.items()
    elif isinstance(document, list) and not isinstance(document, Pairs):
        pairs = enumerate(document)
    for key, value in pairs:
        yield (*at, key)
        yield from places(value, (*at, key))


def value_at(document: Any, at: Place) -> Any:
    for part in at:
        document = document[part]
    return document


def put(document: Any, at: Place, value: Any) -> None:
    value_at(document, at[:-1])[at[-1]] = value


def _some(rng: Random, document: Any, wanted: Any = object) -> Place | None:
    """A random place whose value is of these types."""
    fitting = [
        at for at in places(document)
        if isinstance(found := value_at(document, at), wanted)
        and (wanted is object or not isinstance(found, bool))
    ]  # fmt: skip
    return rng.choice(fitting) if fitting else None


# -- values ----------------------------------------------------------------------------------------


def other_number(rng: Random, document: Any) -> bool:
    at = _some(rng, document, (int, float))
    if at is not None:
        put(document, at, rng.choice(_NUMBERS))
    return at is not None


def scaled_number(rng: Random, document: Any) -> bool:
    """A number that may well be accepted, some powers of ten away."""
    at = _some(rng, document, (int, float))
    if at is None:
        return False
    before = value_at(document, at)
    factor = rng.choice([0, 0.5, 0.999, 1.001, 2, 10, 1e3, 1e6, 1e-3, 1e-6, 1e-9, 1e-12, 1e12])
    after = before * factor if math.isfinite(before) else 0
    put(document, at, int(after) if isinstance(before, int) and factor != 0.5 else after)
    return True


def other_text(rng: Random, document: Any) -> bool:
    at = _some(rng, document, str)
    if at is not None:
        put(document, at, rng.choice(_TEXTS))
    return at is not None


def other_type(rng: Random, document: Any) -> bool:
    at = _some(rng, document)
    if at is not None:
        put(document, at, deepcopy(rng.choice(_OTHER_TYPES)))
    return at is not None


def reference_swapped(rng: Random, document: Any) -> bool:
    """A name in the place of another name or of a key: cycles, doubles, wrong kinds."""
    at = _some(rng, document, str)
    names = [value_at(document, p) for p in places(document)]
    keys = [p[-1] for p in places(document)]
    pool = [name for name in (*names, *keys) if isinstance(name, str)]
    if at is not None and pool:
        put(document, at, rng.choice(pool))
    return at is not None and bool(pool)


def reference_dangling(rng: Random, document: Any) -> bool:
    at = _some(rng, document, str)
    if at is not None:
        put(document, at, value_at(document, at) + rng.choice(["x", " ", "s", "-1", "\u200b"]))
    return at is not None


# -- structure -------------------------------------------------------------------------------------


def deleted(rng: Random, document: Any) -> bool:
    at = _some(rng, document)
    if at is not None:
        del value_at(document, at[:-1])[at[-1]]
    return at is not None


def duplicated(rng: Random, document: Any) -> bool:
    """An element of a list again; of a mapping the whole under another name."""
    at = _some(rng, document)
    if at is None:
        return False
    holder, copy = value_at(document, at[:-1]), deepcopy(value_at(document, at))
    if isinstance(holder, list):
        holder.insert(at[-1], copy)
    else:
        holder[f"{at[-1]}-2"] = copy
    return True


def key_twice(rng: Random, document: Any) -> bool:
    at = _some(rng, document, dict)
    if at is None or not (pairs := list(value_at(document, at).items())):
        return False
    pairs.insert(rng.randrange(len(pairs) + 1), rng.choice(pairs))
    put(document, at, Pairs(pairs))
    return True


def key_renamed(rng: Random, document: Any) -> bool:
    at = _some(rng, document, dict)
    if at is None or not (holder := value_at(document, at)):
        return False
    key = rng.choice(list(holder))
    new = rng.choice([*_TEXTS, str(key).upper(), f"{key}x", *list(holder)])
    holder[new] = holder.pop(key)
    return True


def swapped(rng: Random, document: Any) -> bool:
    one, other = _some(rng, document), _some(rng, document)
    if one is None or other is None or one[: len(other)] == other or other[: len(one)] == one:
        return False
    first, second = value_at(document, one), value_at(document, other)
    put(document, one, second)
    put(document, other, first)
    return True


def repeated(rng: Random, document: Any) -> bool:
    """A list many times as long, a mapping with many more names."""
    at = _some(rng, document, (list, dict))
    if at is None or not (holder := value_at(document, at)):
        return False
    times = rng.choice([2, 3, 20, 300])
    if isinstance(holder, list):
        put(document, at, [deepcopy(v) for _ in range(times) for v in holder][:3000])
    else:
        key = rng.choice(list(holder))
        holder.update({f"{key}{i}": deepcopy(holder[key]) for i in range(times)})
    return True


def nested(rng: Random, document: Any) -> bool:
    at = _some(rng, document)
    if at is None:
        return False
    value, depth = value_at(document, at), rng.choice([1, 2, 59, 60, 61, 5000])
    text = emit(value, yaml=False).strip()
    put(document, at, Raw("[" * depth + text + "]" * depth))
    return True


def aliases(rng: Random, document: Any) -> bool:
    """YAML: an anchor that is used again, a bomb, an alias within itself or of nothing."""
    at = _some(rng, document)
    if at is None:
        return False
    text = emit(value_at(document, at), yaml=True).strip()
    bomb = "&a0 [x, x, x, x, x, x, x, x, x]"
    for i in range(1, 9):
        bomb = f"[&a{i} [{bomb}{f', *a{i - 1}' * 8}]]"
    made = [f"&a [{text}, *a]", f"[&a {text}, *a]", f"&a {text}", "*nobody", bomb, "{<<: 1}"]
    put(document, at, Raw(rng.choice(made)))
    return True


STRUCTURAL: tuple[tuple[int, Mutation], ...] = (
    (6, other_number),
    (10, scaled_number),
    (3, other_text),
    (3, other_type),
    (4, reference_swapped),
    (2, reference_dangling),
    (4, deleted),
    (3, duplicated),
    (1, key_twice),
    (2, key_renamed),
    (2, swapped),
    (2, repeated),
    (1, nested),
    (1, aliases),
)


#: What is often accepted, so that more than the readers are tried.
MILD: tuple[tuple[int, Mutation], ...] = (
    (12, scaled_number),
    (2, other_number),
    (3, deleted),
    (2, duplicated),
    (2, reference_swapped),
    (1, repeated),
    (1, swapped),
    (1, key_renamed),
)


def mutate_document(rng: Random, document: Any, *, mild: bool = False) -> Any:
    """A copy with one to five changes, mostly few; mild ones leave what it says it is."""
    made = deepcopy(document)
    ways = MILD if mild else STRUCTURAL
    weights = [weight for weight, _ in ways]
    head = {}
    if mild and isinstance(made, dict):
        head = {name: made.pop(name) for name in _HEAD if name in made}
    for _ in range(rng.choice([1, 1, 1, 2] if mild else [1, 1, 1, 2, 3, 5])):
        _, mutation = rng.choices(ways, weights)[0]
        try:
            mutation(rng, made)
        except (TypeError, OverflowError, RecursionError, ValueError):
            continue  # what an earlier change has left cannot be changed in this way
    return {**head, **made} if head else made


# -- bytes -----------------------------------------------------------------------------------------


def cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flipped(rng: Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 4, 30])):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def spliced(rng: Random, data: bytes) -> bytes:
    """A part left out, said twice, or put elsewhere."""
    a, b = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    at = rng.randrange(len(data) + 1)
    without = data[:a] + data[b:]
    return rng.choice([without, data[:b] + data[a:], without[:at] + data[a:b] + without[at:]])


def inserted(rng: Random, data: bytes) -> bytes:
    junk = [b"\0", b"\xff", b"}", b"]", b"{", b"\x1b[2J", b"---\n", b"!!python/name:os.system ",
            b"\n\n", b"\t", b"1e999", b'"', b"# ", "é".encode("latin-1"), b"&a *a "]  # fmt: skip
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(junk) * rng.choice([1, 1, 50]) + data[at:]


def encoded(rng: Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    ways = ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"]
    made = [text.encode(way, "replace") for way in ways]
    return rng.choice([*made, data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b""])


BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (cut, flipped, spliced, inserted, encoded)


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    return rng.choice(BYTES)(rng, data)
