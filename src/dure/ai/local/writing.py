"""Writing an answer to any schema: what a field is called says what belongs into it.

Fields are matched by their names, English or Korean. What no name explains gets a sentence
of the summary, so that every schema of the known tasks is filled with something true.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dure.ai.local.embedding import embed, similarity
from dure.ai.local.material import Card, Material, Quiz

ITEMS_DEFAULT: Final = 3
ITEMS_MAX: Final = 50
_LENGTH_DEFAULT: Final = 1000
_ROLES: Final = tuple(
    (role, re.compile(rf"(?:^|_)(?:{words})(?:$|_|s$|es$)"))
    for role, words in (
        ("question", "question|stem|quiz|problem|문제|질문"),
        ("choices", "choice|option|candidate|distractor|선택지|보기|선지"),
        ("place", "answer_index|correct_index|answer_no|answer_number|정답번호"),
        ("answer", "answer|correct|correct_answer|solution|정답|답"),
        ("explanation", "explanation|commentary|rationale|해설|풀이"),
        ("term", "term|word|keyword|concept|name|용어|단어|개념"),
        ("definition", "definition|meaning|description|explain|정의|설명|뜻"),
        ("example", "example|usage|context|예문|예시|문맥"),
        (
            "insight",
            "insight|implication|analysis|impact|outlook|why|reason|인사이트|시사점|전망|영향",
        ),
        ("score", "score|confidence|probability|weight|importance|점수|확신|확률"),
        ("language", "language|lang|언어"),
        ("title", "title|headline|heading|one_line|제목|헤드라인"),
        ("point", "point|bullet|highlight|fact|sentence|line|key_point|핵심|요점"),
        ("tag", "tag|topic|hashtag|태그|주제"),
        ("summary", "summary|abstract|text|body|content|요약|본문|내용"),
    )
)
_LISTED: Final = frozenset({"term", "tag", "point", "insight", "question", "choices"})
_AT_LEAST: Final = re.compile(r"at least (-?[\d.]+)( characters| items)?(?:;|$)")
_AT_MOST: Final = re.compile(r"at most (-?[\d.]+)( characters| items)?(?:;|$)")
_SIGNS: Final[Mapping[str, str]] = {
    "positive": "positive|pos|good|긍정|호재|상승",
    "negative": "negative|neg|bad|부정|악재|하락",
}
TERM_QUIZ: Final = "term quiz"
"""The task of asking about another term than the task `quiz` does."""
_MIDDLE: Final = re.compile(r"medium|normal|middle|보통|중간|중급", re.IGNORECASE)
_UNSURE: Final = re.compile(r"neutral|mixed|unsure|unknown|중립|혼합|보통", re.IGNORECASE)
_SURE: Final = 0.6

Unit = Card | Quiz | str | None


def write(schema: Mapping[str, Any], material: Material, task: str = "") -> Any:
    """A value that fits the schema, made from the material."""
    # Who asks a text for a quiz and for a term quiz does not want the same question twice.
    place = int(task == TERM_QUIZ)
    return _object(schema, material, _unit_of(schema, material, place), task)


def _object(node: Mapping[str, Any], material: Material, unit: Unit, task: str) -> dict[str, Any]:
    properties = node.get("properties", {})
    return {name: _value(name, each, material, unit, task) for name, each in properties.items()}


def _value(name: str, node: Mapping[str, Any], material: Material, unit: Unit, task: str) -> Any:
    if "anyOf" in node:
        node = next(each for each in node["anyOf"] if each.get("type") != "null")
    if "enum" in node:
        return _choose(node["enum"], material)
    role = _role(name) or (_role(task) if node.get("type") == "string" else "") or ""
    match node.get("type"):
        case "object":
            return _object(node, material, _unit_of(node, material, 0), task)
        case "array":
            return _list(role, node, material, unit, task)
        case "integer" | "number":
            return _number(role, node, material, unit)
        case "boolean":
            return material.judgement.label == "positive"
        case "null":
            return None
        case _:
            return _fit(_text(role, material, unit), node)


def _list(
    role: str, node: Mapping[str, Any], material: Material, unit: Unit, task: str
) -> list[Any]:
    items = node["items"]
    least, most = _bounds(node, " items", 0, ITEMS_MAX)
    count = int(min(max(least, ITEMS_DEFAULT), most, ITEMS_MAX))
    if items.get("type") == "object":
        units = _units(items, material, count)
        while len(units) < least and units:
            units.append(units[len(units) % len(units)])
        return [_object(items, material, each, task) for each in units]
    if items.get("type") in {"number", "integer"} and "embed" in role + task:
        return embed(material.text, max(int(least), 16))
    if role == "choices" and isinstance(unit, Quiz):
        texts: Sequence[str] = unit.choices
        if least > len(texts) or most < len(texts):
            texts = material.quizzes(1, max(int(least), 2) if least else int(most))[0].choices
    elif items.get("type") == "string" and "enum" not in items:
        texts = _texts(role, material, count)
    else:
        texts = ()
    if texts:
        padded = [*texts, *(material.best(ITEMS_MAX) if len(texts) < least else ())]
        chosen = list(dict.fromkeys(padded))[: max(len(texts), int(least))]
        while len(chosen) < least:
            chosen.append(f"{chosen[0]} ({len(chosen)})")
        return [_fit(text, items) for text in chosen]
    single = _value("", items, material, unit, task)
    return [single] * max(int(least), 1)


def _texts(role: str, material: Material, count: int) -> Sequence[str]:
    match role:
        case "term" | "tag":
            return material.terms[: max(count, 5)] or material.best(1)
        case "insight":
            return material.insights(count)
        case "question":
            return [quiz.question for quiz in material.quizzes(count)]
        case "choices":
            return material.quizzes(1)[0].choices
        case _:
            return material.best(count)


def _units(node: Mapping[str, Any], material: Material, count: int) -> list[Unit]:
    """What each object of a list is about."""
    roles = {_role(name) for name in node.get("properties", {})}
    if roles & {"question", "choices", "place"}:
        return list(material.quizzes(count, _choices(node)))
    if roles & {"term", "definition"}:
        return list(material.cards(count)) or [None]
    if "insight" in roles:
        return list(material.insights(count)) or [None]
    return list(material.best(count)) or [None]


def _unit_of(node: Mapping[str, Any], material: Material, place: int) -> Unit:
    """What a single object is about, where it is about one thing."""
    roles = {_role(name) for name in node.get("properties", {})}
    is_quiz = roles & {"question"} and roles & {"choices", "answer", "place"}
    if is_quiz or (roles & {"term"} and roles & {"definition"}):
        return _units(node, material, place + 1)[: place + 1][-1]
    return None


def _choices(node: Mapping[str, Any]) -> int:
    """How many choices a question of this shape has."""
    for name, each in node.get("properties", {}).items():
        if _role(name) == "choices" and each.get("type") == "array":
            least, most = _bounds(each, " items", 0, 10)
            return int(min(max(least, 4), most))
    return 4


def _text(role: str, material: Material, unit: Unit) -> str:
    match unit, role:
        case Quiz(), "question" | "answer" | "explanation":
            return str(getattr(unit, role))
        case Card(), "term" | "definition" | "example":
            return str(getattr(unit, role))
        case Card(), "explanation" | "summary" | "insight":
            return unit.definition
        case Quiz(), "term":
            return unit.answer
        case str(), "" | "insight" | "point" | "summary" | "explanation" | "definition":
            return unit
    match role:
        case "question":
            return material.quizzes(1)[0].question
        case "answer":
            return material.quizzes(1)[0].answer
        case "term" | "tag":
            return material.terms[0] if material.terms else material.text.strip()[:30]
        case "insight" | "explanation":
            return " ".join(material.insights(2))
        case "definition" | "example":
            cards = material.cards(1)
            return str(getattr(cards[0], role)) if cards else material.text.strip()
        case "language":
            return "ko" if material.is_korean else "en"
        case "title":
            lead = (material.best(1) or [material.text])[0]
            return lead if len(lead) <= 60 else lead[:59].rsplit(" ", 1)[0] + "…"
        case "summary":
            return " ".join(material.best(ITEMS_DEFAULT)) or material.text.strip()
        case _:
            return " ".join(material.best(1)) or material.text.strip()


def _number(role: str, node: Mapping[str, Any], material: Material, unit: Unit) -> int | float:
    whole = node["type"] == "integer"
    if role in {"place", "answer"} and isinstance(unit, Quiz):
        return unit.place
    least, most = _bounds(node, None, 0.0, 100.0 if whole else 1.0)
    value = least + (most - least) * material.judgement.probability
    return round(value) if whole else round(value, 4)


def _choose(values: Sequence[Any], material: Material) -> Any:
    """The value of an enumeration that fits best."""
    labels = [str(value) for value in values]
    judged = material.tone
    signs = {
        sign: next((i for i, v in enumerate(labels) if re.search(words, v, re.IGNORECASE)), None)
        for sign, words in _SIGNS.items()
    }
    if all(place is not None for place in signs.values()):
        unsure = next((i for i, v in enumerate(labels) if _UNSURE.search(v)), None)
        if judged.probability < _SURE and unsure is not None:
            return values[unsure]
        return values[signs[judged.label] or 0]
    for value, label in zip(values, labels, strict=True):
        if _MIDDLE.search(label):
            return value
    named = [material.text.count(label) for label in labels]
    if max(named):
        return values[named.index(max(named))]
    vector = embed(material.text)
    likeness = [similarity(embed(label), vector) for label in labels]
    return values[likeness.index(max(likeness))]


def _fit(text: str, node: Mapping[str, Any]) -> str:
    """A text within its told length."""
    least, most = _bounds(node, " characters", 0, _LENGTH_DEFAULT)
    if len(text) > most:
        text = text[: max(int(most) - 1, 0)].rstrip() + "…" if most > 1 else text[: int(most)]
    while 0 < len(text) < least:
        text = f"{text} {text}"[: max(int(least), len(text) + 1)]
    return text or "-" * max(int(least), 1)


def _bounds(
    node: Mapping[str, Any], unit: str | None, least: float, most: float
) -> tuple[float, float]:
    """What the description says about size; a lone lower bound lifts the upper one."""
    told = node.get("description", "")
    low = [float(number) for number, kind in _AT_LEAST.findall(told) if (kind or None) == unit]
    high = [float(number) for number, kind in _AT_MOST.findall(told) if (kind or None) == unit]
    least = low[0] if low else least
    return least, max(high[0] if high else most, least)


def _role(name: str) -> str:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return next((role for role, pattern in _ROLES if pattern.search(snake)), "")
