"""One grammar says which jobs are meant, and it means the same everywhere it is written."""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

from dure.core.filter import FIELDS, LENGTH_MAX, JobFilter, Match, Op, Term, Text
from dure.core.state import Priority, State

NOW = 10_000.0


@dataclass(frozen=True)
class Record:
    id: int = 17
    state: State = State.FAILED
    kind: str = "fetch.page"
    lane: str = "acme"
    priority: Priority = Priority.HIGH
    attempt: int = 3
    batch: int | None = 42
    session: str | None = "x"
    reason: str | None = "QUOTA"
    error: str | None = "Timeout: no answer in 20s"
    args: Mapping[str, object] = field(default_factory=lambda: {"code": "005930"})
    enqueued_at: float = NOW - 7200.0
    finished_at: float | None = NOW - 600.0


BLANK = Record(batch=None, session=None, reason=None, error=None, args={}, finished_at=None)


def is_meant(text: str, record: Record) -> bool:
    return JobFilter.parse(text).matches(record, NOW)


def only_term(text: str) -> Term:
    (term,) = JobFilter.parse(text).terms
    return term


def read_or_refuse(text: str) -> JobFilter | str:
    try:
        return JobFilter.parse(text)
    except ValueError as error:
        return str(error)


def refusal(text: str) -> str:
    answer = read_or_refuse(text)
    assert isinstance(answer, str)
    return answer


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
STARRED = st.builds(
    Text, WORDS.filter(bool), st.sampled_from([Match.PREFIX, Match.SUFFIX, Match.CONTAINS])
)
TEXTS = st.one_of(WORDS.map(Text), STARRED, st.just(Text("", Match.PREFIX)))
FRAGMENTS = st.one_of(STARRED, st.just(Text("", Match.PREFIX)))
WHOLE = st.integers(0, 2**63 - 1)
LENGTHS = st.floats(0, 36525 * 86400)
KEYS = st.text(string.ascii_letters + "_-한글", min_size=1, max_size=6)
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(lambda keys: ".".join(["args", *keys]))
ORDER = st.sampled_from([Op.GT, Op.LT, Op.GE, Op.LE])


def equality(
    fields: st.SearchStrategy[str], values: st.SearchStrategy[object]
) -> st.SearchStrategy[Term]:
    many = st.lists(values, min_size=1, max_size=3).map(tuple)
    return st.builds(Term, fields, st.sampled_from([Op.EQ, Op.NE]), many)


def order(fields: list[str], values: st.SearchStrategy[float]) -> st.SearchStrategy[Term]:
    return st.builds(Term, st.sampled_from(fields), ORDER, values.map(lambda value: (value,)))


TERMS = st.one_of(
    equality(st.sampled_from(["kind", "lane", "session", "reason"]) | PATHS, TEXTS),
    equality(st.just("error"), FRAGMENTS),
    equality(st.just("state"), st.sampled_from(State)),
    equality(st.just("priority"), st.sampled_from(Priority)),
    equality(st.sampled_from(["id", "attempt", "batch"]), WHOLE),
    order(["id", "attempt"], WHOLE),
    order(["age", "finished"], LENGTHS),
)


@given(st.lists(TERMS, max_size=6))
def test_a_filter_written_down_and_read_again_is_the_same(terms: list[Term]) -> None:
    wanted = JobFilter(tuple(terms))

    assert wanted == JobFilter.parse(str(wanted))


@given(st.text(st.sampled_from('ab*"\\,: \t\n<>=!-.1h') | st.sampled_from(list("stateidagekn"))))
def test_any_text_is_read_or_refused_with_its_column(text: str) -> None:
    match read_or_refuse(text):
        case JobFilter() as found:
            assert found == JobFilter.parse(str(found))
        case str(message):
            assert re.search(r"at column \d+: ", message)


@pytest.mark.parametrize(
    "text",
    [
        "state:failed kind:fetch.* lane:acme error:Timeout age>1h args.code:005930 batch:42",
        "session:x reason:QUOTA priority:high attempt>2 id:17 state!=success finished<30m",
        'error:"timed out" kind:*.page,*fetch* session:* args.a.b:"*","a,b" reason:""',
        "",
    ],
)
def test_a_filter_in_its_short_form_is_written_as_it_was_read(text: str) -> None:
    assert text == str(JobFilter.parse(text))


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("state:failed,Stale", Term("state", Op.EQ, (State.FAILED, State.STALE))),
        ("-state:success", Term("state", Op.NE, (State.SUCCESS,))),
        ("priority!=HIGH", Term("priority", Op.NE, (Priority.HIGH,))),
        ("id:007", Term("id", Op.EQ, (7,))),
        ("attempt>=2", Term("attempt", Op.GE, (2,))),
        ("age>1h30m", Term("age", Op.GT, (5400.0,))),
        ("finished<=90", Term("finished", Op.LE, (90.0,))),
        ("kind:fetch.*", Term("kind", Op.EQ, (Text("fetch.", Match.PREFIX),))),
        ("kind:*.page", Term("kind", Op.EQ, (Text(".page", Match.SUFFIX),))),
        ("kind:*h.p*", Term("kind", Op.EQ, (Text("h.p", Match.CONTAINS),))),
        ("kind:*,**", Term("kind", Op.EQ, (Text("", Match.PREFIX), Text("", Match.PREFIX)))),
        ('kind:"*"', Term("kind", Op.EQ, (Text("*"),))),
        ('lane:"a b"*', Term("lane", Op.EQ, (Text("a b", Match.PREFIX),))),
        (r'lane:"say \"hi\" \\ there"', Term("lane", Op.EQ, (Text(r'say "hi" \ there'),))),
        ("lane:https://a.example/x?y=1", Term("lane", Op.EQ, (Text("https://a.example/x?y=1"),))),
        ("error:Timeout", Term("error", Op.EQ, (Text("Timeout", Match.CONTAINS),))),
        ("error:Timeout*", Term("error", Op.EQ, (Text("Timeout", Match.PREFIX),))),
        ('error:""', Term("error", Op.EQ, (Text("", Match.PREFIX),))),
        ("args.code:005930", Term("args.code", Op.EQ, (Text("005930"),))),
    ],
)
def test_values_are_typed(text: str, term: Term) -> None:
    assert term == only_term(text)
    assert [type(value) for value in term.values] == [type(v) for v in only_term(text).values]


def test_an_argument_is_found_by_its_path() -> None:
    assert only_term("args.source.code:1").path == ("source", "code")
    assert only_term("lane:a.b").path == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "state:failed",
        "state:stale,failed",
        "-state:success,stale",
        "kind:fetch.page",
        "kind:fetch.*",
        "kind:*.page",
        "kind:*h.p*",
        "kind:*",
        "lane:acme",
        "priority:low,high",
        "attempt>2 attempt>=3 attempt<4 attempt<=3 attempt:3 attempt!=4",
        "batch:41,42",
        "session:x",
        "reason:QUOTA",
        "error:Timeout",
        'error:"no answer"',
        "error:Timeout*",
        "error:*20s",
        "-error:Refused",
        "id:17",
        "age>1h age<3h age>=2h age<=2h",
        "finished>5m finished<=10m",
        "args.code:005930",
        "-args.code:5930",
        "kind:fetch.* age>1h args.code:005930 batch:42 reason:QUOTA attempt>2 -state:success",
    ],
)
def test_a_job_is_meant_when_every_term_holds(text: str) -> None:
    assert is_meant(text, Record())


@pytest.mark.parametrize(
    "text",
    [
        "state:success",
        "-state:failed,success",
        "kind:fetch",
        "kind:page*",
        "kind:*fetch",
        "kind:*x*",
        "lane:Acme",
        "priority:low",
        "attempt>3",
        "attempt<3",
        "attempt>=4",
        "attempt<=2",
        "batch:41,43",
        "error:timeout",
        "error:answer*",
        "error:*Timeout",
        "error!=Timeout",
        "age<2h",
        "age>2h",
        "finished<10m",
        "args.code:5930",
        "args.other:005930",
        "state:failed lane:other",
    ],
)
def test_a_job_is_not_meant_when_one_term_does_not_hold(text: str) -> None:
    assert not is_meant(text, Record())


@pytest.mark.parametrize("name", ["batch", "session", "reason", "error", "args.code"])
def test_what_a_job_does_not_have_equals_nothing(name: str) -> None:
    assert not is_meant(f"{name}:42", BLANK)
    assert is_meant(f"{name}!=42", BLANK)
    assert is_meant(f"-{name}:42", BLANK)


@pytest.mark.parametrize("name", ["session", "reason", "error", "args.code"])
def test_a_star_alone_asks_for_any_value(name: str) -> None:
    assert is_meant(f"{name}:*", Record())
    assert not is_meant(f"-{name}:*", Record())
    assert not is_meant(f"{name}:*", BLANK)
    assert is_meant(f"-{name}:*", BLANK)


def test_an_unfinished_job_is_neither_long_nor_short_finished() -> None:
    assert not is_meant("finished>0s", BLANK)
    assert not is_meant("finished<=1w", BLANK)


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (5, "5"), (2.5, "2.5"), (True, "true"), (False, "false")],
)
def test_an_argument_is_compared_as_text(value: object, text: str) -> None:
    assert is_meant(f"args.a:{text}", Record(args={"a": value}))
    assert is_meant(f"args.a.b:{text}", Record(args={"a": {"b": value}}))


@pytest.mark.parametrize("value", [None, {"b": 1}, [1]])
def test_an_argument_that_is_no_text_equals_nothing(value: object) -> None:
    record = Record(args={"a": value})

    assert not is_meant("args.a:*", record)
    assert not is_meant("args.a.c:*", record)
    assert not is_meant("args.a.b.c:*", record)


@given(TERMS)
def test_not_equal_is_the_exact_opposite_of_equal(term: Term) -> None:
    equal = Term(term.field, Op.EQ, term.values)
    unequal = Term(term.field, Op.NE, term.values)

    for record in (Record(), BLANK):
        assert equal.matches(record, NOW) is not unequal.matches(record, NOW)


@given(st.lists(TERMS, max_size=4))
def test_all_terms_must_hold(terms: list[Term]) -> None:
    each = [term.matches(Record(), NOW) for term in terms]

    assert all(each) is JobFilter(tuple(terms)).matches(Record(), NOW)


@pytest.mark.parametrize("name", FIELDS)
def test_the_example_of_every_field_can_be_read(name: str) -> None:
    assert only_term(FIELDS[name].example).field.split(".")[0] == name


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_takes_its_signs_and_no_other(name: str) -> None:
    example = only_term(FIELDS[name].example)
    value = str(example).removeprefix(f"{example.field}{example.op}")

    for op in Op:
        if op in FIELDS[name].ops:
            assert only_term(f"{example.field}{op}{value}").op is op
        else:
            assert f"goes with {' '.join(FIELDS[name].ops)} and not with {op}, like" in refusal(
                f"{example.field}{op}{value}"
            )


def test_the_bounds_themselves_are_allowed() -> None:
    """X14"""
    longest = f"age<=36525d id:{2**63 - 1}"

    assert longest == str(JobFilter.parse(longest.ljust(LENGTH_MAX)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stat:failed", "'stat:failed' at column 1: unknown field 'stat'; did you mean 'state'?"),
        ("id:1  Knd:x", "'Knd:x' at column 7: unknown field 'Knd'; did you mean 'kind'?"),
        ("zzz:1", "unknown field 'zzz'. There are: id, state,"),
        ("state.x:1", "unknown field 'state.x'; did you mean 'state'?"),
        ("state:faild", "no such state; did you mean 'failed'? There are: pending, running,"),
        ("state:*", "no such state. There are:"),
        ("state:failed*", "no such state; did you mean 'failed'?"),
        ("priority:urgent", "no such priority. There are: critical, high, normal, low"),
        ("failed", "'failed' at column 1: a term is a field, one of : != > < >= <= and a value"),
        ("state=failed", "a term is a field, one of"),
        ("state:", "a value is missing"),
        ("state:failed,", "a value is missing"),
        ("id:1,,2", "a value is missing"),
        ("id:x", "write a whole number from 0 to 9223372036854775807"),
        ("id:-1", "write a whole number"),
        ("id:5*", "write a whole number"),
        ("id:9223372036854775808", "write a whole number"),
        ("age>soon", "cannot read 'soon' as a duration"),
        ("age>5*", "write a length of time up to 36525d, like 1h"),
        ("age>36526d", "write a length of time up to 36525d"),
        ("age>1h,2h", "> takes one value, like age>1h"),
        ("-age>1h", "a minus goes with ':' only; write age<=1h"),
        ("-attempt<=2", "write attempt>2"),
        ("-attempt<2", "write attempt>=2"),
        ("-attempt>=2", "write attempt<2"),
        ("-state!=failed", "write state:failed"),
        ("kind:a*b", "cannot read the value: '*' stands at its start or end"),
        ('error:"timed out', "'error:\"timed' at column 1: cannot read the value"),
        ('kind:a"b"', "cannot read the value"),
        ("args:x", "say which argument is meant, like args.code:005930"),
        ("args..a:x", "say which argument is meant"),
        ("id:1 lane:\0", "remove the character '\\x00' at column 11: no database can hold it"),
        ("lane:\ud800", "remove the character '\\ud800' at column 6"),
        ("x" * (LENGTH_MAX + 1), "at most 4000 characters, this one has 4001: use a wildcard"),
    ],
)
def test_a_bad_term_is_named_with_what_to_write_instead(text: str, words: str) -> None:
    assert words in refusal(text)
