"""Facts are read once: a call with other evidence answers as a model that knows nothing else does."""

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.program.knowledge import MOST_WORLDS, Knowledge

SMOKERS = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate area(person) in {"ai", "db"}
1.1: smokes(x) and friends(x, y) => smokes(y)
0.6: smokes(x) => area(x) = "ai"
"""
UNDECLARED = "1.1: smokes(x) and friends(x, y) => smokes(y)\n0.4: works(x) => smokes(x)\n"
GIVEN = [
    (),
    ('smokes("anna")',),
    ('not smokes("carl")', 'smokes("anna")'),
    ('smokes("anna") ~ 0.7', 'smokes("anna") ~ 0.6'),
    ('smokes("zoe")',),
    ('friends("carl", "zoe")',),
    (),
]


def written(folder: Path) -> Path:
    (folder / "friends.csv").write_text("anna,bob\nbob,carl\n")
    return folder


def rows(model: hb.Model, given: tuple[str, ...]) -> dict[tuple[str, object], float]:
    found = model.infer(given=given, engine="exact").to_dict()
    return {(row["atom"], row["value"]): row["probability"] for row in found["marginals"]}


@pytest.mark.parametrize("text", [SMOKERS, UNDECLARED], ids=["declared", "undeclared"])
def test_other_evidence_needs_no_other_reading(text: str, tmp_path: Path) -> None:
    facts = written(tmp_path)
    own = (('area("bob") = "db"',), ('area("zoe") = "ai"',)) if text is SMOKERS else (('works("bob")',),)
    model = hb.Model(hb.parse(text), facts)
    for given in (*GIVEN, *own):
        assert rows(model, given) == rows(hb.Model(hb.parse(text), facts), given)


def test_the_files_may_be_gone_after_the_first_call(tmp_path: Path) -> None:
    facts = written(tmp_path)
    model = hb.Model(hb.parse(SMOKERS), facts)
    before = rows(model, ('smokes("anna")',))
    (facts / "friends.csv").unlink()
    assert rows(model, ('not smokes("anna")',)) != before == rows(model, ('smokes("anna")',))


def test_mistakes_of_evidence_are_those_of_a_first_call(tmp_path: Path) -> None:
    facts = written(tmp_path)
    text = SMOKERS + 'smokes("anna")\n'
    model = hb.Model(hb.parse(text), facts)
    model.infer()
    for given in ('not smokes("anna")', "smokes(3)", 'area("bob") = "art"', 'smoks("bob")'):
        with pytest.raises(hb.HerbrandError) as warm:
            model.infer(given=given)
        with pytest.raises(hb.HerbrandError) as cold:
            hb.Model(hb.parse(text), facts).infer(given=given)
        assert str(warm.value) == str(cold.value)


def test_a_file_that_was_wrong_is_read_again(tmp_path: Path) -> None:
    facts = written(tmp_path)
    (facts / "friends.csv").write_text("anna,bob,carl\n")
    model = hb.Model(hb.parse(SMOKERS), facts)
    with pytest.raises(hb.HerbrandError):
        model.infer()
    written(tmp_path)
    assert len(model.infer(query="smokes")) == 3


def test_programs_of_old_evidence_are_forgotten(tmp_path: Path) -> None:
    knowledge = Knowledge(hb.parse(SMOKERS), written(tmp_path))
    first = knowledge.program(('smokes("anna")',), whole_tables=True)
    assert knowledge.program(('smokes("anna")',), whole_tables=True) is first
    for number in range(MOST_WORLDS):
        knowledge.program((f'smokes("anna") ~ 0.{number + 10}',))
    assert knowledge.program(('smokes("anna")',), whole_tables=True) is not first
