"""One relation algebra with two executors: NumPy columns in memory, or queries of a database.

A :class:`~herbrand.relations.relation.Relation` is an immutable bag of rows with named columns of one kind
each (``int``, ``float``, ``bool`` or ``text``; no nulls: ``left_join`` takes values for rows without
a match). Every operation gives a new one, so that an algorithm is written once and runs wherever rows are:

===========================================  ===========================================================
``join(other, on)``                          each pair of rows with equal columns ``on``; none: all pairs
``left_join(other, on, column=value, ...)``  the same, and rows with no match with these values instead
``matching(other, on)``, ``without(...)``    the rows that have a match; those that have none
``group(by, name=fold, ...)``                one row for each different ``by``; folds: ``total``, ``largest``,
                                             ``least``, ``count``, ``some``, ``log_sum``
``let(name=expression, ...)``                more columns, or others in place of those of that name
``select(name=expression, ...)``             these columns only; ``only("a", "b")``; ``renamed(new="old")``
``where(condition)``                         the rows in which an expression is true
``stack(*others)``, ``distinct()``           all rows one after another; each different row once
``kept()``                                   computed and held, on a database in a scratch table
``count()``, ``scalar(fold)``                numbers; ``arrays()`` and ``rows()`` the data
===========================================  ===========================================================

Expressions come from :func:`column` and :func:`literal` and Python's operators, and from :func:`exp`,
:func:`log`, :func:`magnitude`, :func:`greater`, :func:`lesser`, :func:`choose` and :func:`cast`.

>>> from herbrand.relations.expression import column
>>> from herbrand.relations.fold import total
>>> from herbrand.relations.memory import Memory
>>> links = Memory.of(source=[0, 0, 1], target=[1, 2, 2])
>>> paths = links.renamed(middle="target").join(links.renamed(middle="source"), ["middle"])
>>> paths.only("source", "target").rows()
[(0, 2)]
>>> links.let(worth=column("target") * 0.5).group(["source"], worth=total(column("worth"))).rows()
[(0, 1.5), (1, 1.0)]

Where the rows are in a database: ``Scratch(database).table("links", source="int", target="int")`` gives a
relation with the same methods (:mod:`herbrand.relations.stored`). Another operation in expressions is one row
of ``OPERATIONS`` (:mod:`herbrand.relations.expression`), another fold one of ``FOLDS``
(:mod:`herbrand.relations.fold`).
"""
