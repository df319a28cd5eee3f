"""SQL dialects: phrases with gaps for what databases write differently, filled by one writer of expressions.

>>> DUCKDB.quoted("order"), SPARK.quoted("order"), SPARK.text_value("it's")
('"order"', '`order`', "'it''s'")
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """SQL phrases with gaps in which databases differ.

    ``numbers``: query of the numbers from 0 up to ``count``, named ``i``. ``part``: number below ``count`` of
    the part that a value belongs to. ``gathered``: sorted list of a group's values. ``hash``: BIGINT hash of
    some expressions. ``field`` and ``kind``: record with named fields. ``quote``: the sign around names.
    ``phrases``: SQL of named operations and types that the database writes in its own way.
    """

    numbers: str
    part: str
    gathered: str
    hash: str
    field: str
    kind: str
    quote: str
    phrases: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def hashed(self, columns: Sequence[str]) -> str:
        """SQL of the hash of some expressions."""
        return self.hash.format(columns=", ".join(columns))

    def record(self, **values: str) -> str:
        """SQL of a record with these fields; records are ordered by the first field, then the next."""
        fields = (self.field.format(name=name, value=value) for name, value in values.items())
        return f"{self.kind}({', '.join(fields)})"

    def quoted(self, name: str) -> str:
        """Quoted name of a column or a table."""
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def text_value(self, text: str) -> str:
        """SQL of a constant text."""
        return f"'{text.replace(chr(39), 2 * chr(39))}'"

    def phrase(self, sql: str) -> str:
        """SQL with the gaps that name ``phrases`` filled in for this database."""
        for name, own in self.phrases.items():
            sql = sql.replace(f"{{{name}}}", own)
        return sql


DUCKDB = Dialect(
    numbers="(SELECT range AS i FROM range({count}))",
    part="HASH({column}) % {count}",
    gathered="LIST_SORT(LIST({value}))",
    hash="CAST(HASH({columns}) >> 2 AS BIGINT)",
    field="{name} := {value}",
    kind="STRUCT_PACK",
    quote='"',
    phrases={
        "divided": "({0} / {1})",
        "floored": "(({0} - ((({0} % {1}) + {1}) % {1})) // {1})",
        "remainder": "((({0} % {1}) + {1}) % {1})",
        "whole": "FLOOR({0})",
        "log": "LN({0})",
        "text": "VARCHAR",
        "days": "(CAST({0} AS DATE) - DATE '1970-01-01')",
        "microseconds": "EPOCH_US(CAST({0} AS TIMESTAMP))",
        "time": (
            "CASE WHEN {0} % 1000000 = 0 THEN STRFTIME(MAKE_TIMESTAMP({0}), '%Y-%m-%dT%H:%M:%S') "
            "ELSE STRFTIME(MAKE_TIMESTAMP({0}), '%Y-%m-%dT%H:%M:%S.%f') END"
        ),
        "date": "CAST(DATE '1970-01-01' + CAST({0} AS INTEGER) AS VARCHAR)",
    },
)
SPARK = Dialect(
    numbers="(SELECT id AS i FROM range({count}))",
    part="PMOD(HASH({column}), {count})",
    gathered="SORT_ARRAY(COLLECT_LIST({value}))",
    hash="XXHASH64({columns})",
    field="{value} AS {name}",
    kind="STRUCT",
    quote="`",
    # In Spark division by 0 is an error, the logarithm of 0 is NULL, and FLOOR returns a BIGINT; and
    # expressions are also evaluated on rows that an earlier condition excludes.
    phrases={
        "divided": (
            "CASE WHEN {1} <> 0 THEN {0} / {1} WHEN {0} > 0 THEN DOUBLE('inf') "
            "WHEN {0} < 0 THEN DOUBLE('-inf') ELSE DOUBLE('nan') END"
        ),
        "floored": ("(({0} - ((({0} % NULLIF({1}, 0)) + {1}) % NULLIF({1}, 0))) DIV NULLIF({1}, 0))"),
        "remainder": "((({0} % NULLIF({1}, 0)) + {1}) % NULLIF({1}, 0))",
        "whole": "CASE WHEN ABS({0}) < 9007199254740992 THEN DOUBLE(FLOOR({0})) ELSE {0} END",
        "log": "CASE WHEN {0} > 0 THEN LN({0}) WHEN {0} = 0 THEN DOUBLE('-inf') ELSE DOUBLE('nan') END",
        "text": "STRING",
        "days": "CAST(DATEDIFF(CAST({0} AS DATE), DATE '1970-01-01') AS BIGINT)",
        "microseconds": "UNIX_MICROS(CAST({0} AS TIMESTAMP))",
        "time": (
            "REPLACE(DATE_FORMAT(TIMESTAMP_MICROS({0}), CASE WHEN {0} % 1000000 = 0 "
            "THEN 'yyyy-MM-dd HH:mm:ss' ELSE 'yyyy-MM-dd HH:mm:ss.SSSSSS' END), ' ', 'T')"
        ),
        "date": "CAST(DATE_ADD(DATE '1970-01-01', CAST({0} AS INT)) AS STRING)",
    },
)
