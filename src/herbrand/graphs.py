"""Components and reachability in graphs: with arrays for many vertices, with dictionaries for few.

>>> component_of(5, np.array([[3, 1], [4, 3]])).tolist()
[0, 1, 2, 1, 1]
>>> reached("b", {"a": "b", "b": "cd", "c": "b", "d": ""}.__getitem__)
['b', 'c', 'd']
>>> linked(["ab", "cd", "be"], set)
[['ab', 'be'], ['cd']]
>>> list(strong_components({"a": "b", "b": "ac", "c": ""}))
[['c'], ['a', 'b']]
>>> len(set(strong_component_of(3, np.array([[0, 1], [1, 0], [1, 2]])).tolist()))
2
>>> [is_without_circle(2, np.array(links)) for links in ([[0, 1]], [[0, 1], [1, 0]], [[1, 1]])]
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def reached(starts: Iterable[Key], following: Callable[[Key], Iterable[Key]]) -> list[Key]:
    """The starts and all keys that can be reached from them, each once."""
    met = dict.fromkeys(starts)
    waiting = list(met)
    while waiting:
        for other in following(waiting.pop()):
            if other not in met:
                met[other] = None
                waiting.append(other)
    return list(met)


class Classes(Generic[Key]):
    """Union-find: classes of equal keys, each with a leader; a key that was never joined leads itself."""

    def __init__(self) -> None:
        self._above: dict[Key, Key] = {}

    def leader(self, key: Key) -> Key:
        above = self._above
        while key in above:
            following = above[key]
            if following in above:  # half of the way is cut off, so that no chain stays long
                above[key] = above[following]
            key = following
        return key

    def join(self, key: Key, leader: Key) -> None:
        """Merge the class of ``key`` into that of ``leader``, whose leader it takes."""
        key, leader = self.leader(key), self.leader(leader)
        if key != leader:
            self._above[key] = leader


def linked(items: Iterable[Item], keys: Callable[[Item], Iterable[Hashable]]) -> list[list[Item]]:
    """Group items that share keys, directly or through other items; groups and items keep their order."""
    classes, owner, every = Classes[int](), dict[Hashable, int](), list(items)
    for place, item in enumerate(every):
        for key in keys(item):
            classes.join(place, owner.setdefault(key, place))
    groups: dict[int, list[Item]] = {}
    for place, item in enumerate(every):
        groups.setdefault(classes.leader(place), []).append(item)
    return list(groups.values())


def strong_components(following: Mapping[Key, Iterable[Key]]) -> Iterator[list[Key]]:
    """Strong components, each after all other components that it reaches.

    Tarjan's algorithm without recursion, as chains may be long.
    """
    number: dict[Key, int] = {}
    lowest: dict[Key, int] = {}
    waiting: list[Key] = []
    done: set[Key] = set()
    for root in following:
        if root in number:
            continue
        stack = [(root, iter(following[root]))]
        number[root] = lowest[root] = len(number)
        waiting.append(root)
        while stack:
            key, others = stack[-1]
            for other in others:
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    waiting.append(other)
                    stack.append((other, iter(following[other])))
                    break
                if other not in done:
                    lowest[key] = min(lowest[key], number[other])
            else:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[key])
                if lowest[key] == number[key]:
                    component = [waiting.pop()]
                    while component[-1] != key:
                        component.append(waiting.pop())
                    done.update(component)
                    yield component[::-1]


FEW = 64
"""Up to this many vertices and links, joining one by one is faster than arrays."""


def component_of(count: int, links: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The component of each of ``count`` vertices, numbered by their first; ``links`` [n, 2].

    As quick as scipy's on a million links, and does not take a tenth of a second to import.
    """
    if count + len(links) > FEW:
        return _components_by_rounds(count, links)
    classes, numbers = Classes[int](), dict[int, int]()
    for one, other in links.tolist():
        classes.join(one, other)
    components = [numbers.setdefault(classes.leader(vertex), len(numbers)) for vertex in range(count)]
    return np.array(components, np.int64)


def _components_by_rounds(count: int, links: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Merge each component with its smallest neighbour, in rounds.

    After two rounds no component that has a neighbour is still alone, so that two rounds at least halve the
    number of components left.
    """
    first = np.arange(count)
    if not len(links):
        return first
    while len(links):
        ends = first[links]
        apart = ends[:, 0] != ends[:, 1]
        links, ends = links[apart], ends[apart]
        np.minimum.at(first, ends.max(axis=1), ends.min(axis=1))
        first = _followed(first)
    return (np.cumsum(first == np.arange(count)) - 1)[first]


def _followed(first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Representative at the end of each chain of smaller neighbours."""
    while True:
        further = first[first]
        if (further == first).all():
            return first
        first = further


def strong_component_of(count: int, links: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The strong component of each of ``count`` vertices, numbered from 0; ``links`` [n, 2], from and to."""
    if not len(links):
        return np.arange(count)
    # imported here: scipy takes a tenth of a second, and most runs need no strong components
    from scipy.sparse import coo_array, csgraph

    graph = coo_array((np.ones(len(links), bool), (links[:, 0], links[:, 1])), shape=(count, count))
    return csgraph.connected_components(graph, connection="strong")[1].astype(np.int64)


def is_without_circle(count: int, links: npt.NDArray[np.integer]) -> bool:
    """Whether the directed graph of ``links`` [n, 2] is acyclic."""
    loops = (links[:, 0] == links[:, 1]).any()
    return not loops and int(strong_component_of(count, links).max(initial=-1)) == count - 1
