"""Writing an article: the same number always gives the same headline, lede and paragraphs."""

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dure_sandbox.lots import dice
from dure_sandbox.news import vocabulary as words
from dure_sandbox.news.korean import joined
from dure_sandbox.news.stream import KOREA, Facts

BRIEF_SHARE: Final = 0.1
"""Of articles with one short sentence, such as photo news: too little for a summary."""
LONG_SHARE: Final = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    title: str
    paragraphs: tuple[str, ...]
    reporter: str
    caption: str

    @property
    def lede(self) -> str:
        return " ".join(self.paragraphs)[:160]


def title_of(seed: int, facts: Facts, version: int) -> str:
    """Only the headline, which is all that a list shows."""
    return _begin(seed, facts, version)[2]


def story(seed: int, facts: Facts, version: int) -> Story:
    draw, values, title, term = _begin(seed, facts, version)
    if facts.press.is_english:
        paragraphs = _english(draw, values)
    else:
        paragraphs = _korean(draw, values, title, term)
    if version:
        follow_up = words.FOLLOW_UP
        if facts.press.is_english:
            follow_up = "Correction: an earlier version of this article misstated a figure."
        paragraphs = [*paragraphs, joined(follow_up.format(**values))]
    return Story(
        title=title,
        paragraphs=tuple(paragraphs),
        reporter=f"{values['person']} 기자",
        caption=f"{values['company']} 본사 전경. {facts.press.name} 자료사진",
    )


def _begin(seed: int, facts: Facts, version: int) -> tuple[random.Random, dict[str, str], str, str]:
    draw = dice(seed, facts.number, 20)
    values = _values(draw, facts)
    if facts.press.is_english:
        title, term = draw.choice(words.ENGLISH_HEADLINES), ""
    else:
        title, term = draw.choice(words.TOPICS[facts.sections[0]])
    title = joined(title.format(**values))
    if version:
        title = f"{title} (Update)" if facts.press.is_english else f"{title}(종합)"
    return draw, values, title, term


def _values(draw: random.Random, facts: Facts) -> dict[str, str]:
    whole = draw.randint(1, 12)
    return {
        "company": draw.choice(words.COMPANIES),
        "bank": draw.choice(words.BANKS),
        "person": draw.choice(words.PEOPLE),
        "role": draw.choice(words.ROLES),
        "institute": draw.choice(words.INSTITUTES),
        "place": draw.choice(words.PLACES),
        "country": draw.choice(words.COUNTRIES),
        "move": draw.choice(words.MOVES),
        "word": draw.choice(words.WORDS),
        "won": f"{draw.randint(11, 9800):,}",
        "rate": f"{whole}.{draw.randint(0, 9)}",
        "rate2": f"{draw.randint(31, 89)}.{draw.randint(0, 9)}",
        "p": f"0.{draw.randint(1, 9)}",
        "n": str(draw.randint(2, 48)),
        "n2": str(draw.randint(49, 98)),
        "fx": f"1,{draw.randint(280, 479)}.{draw.randint(0, 9)}",
        "number": f"{draw.randint(101, 989)}.{draw.randint(0, 9)}",
        "when": draw.choice(("지난달", "이번 주", "3분기", "올해 들어", "최근 한 달 사이")),
        "day": str(datetime.fromtimestamp(facts.published_at, KOREA).day),
        "latin": draw.choice(words.LATIN),
        "verb": draw.choice(words.VERBS),
        "verb2": draw.choice(("risen", "fallen", "climbed", "slipped")),
    }


def _length(draw: random.Random) -> int:
    """How many paragraphs."""
    share = draw.random()
    if share < BRIEF_SHARE:
        return 0
    return draw.randint(14, 24) if share < BRIEF_SHARE + LONG_SHARE else draw.randint(3, 8)


def _korean(draw: random.Random, values: dict[str, str], title: str, term: str) -> list[str]:
    length = _length(draw)
    about = title.split("…", maxsplit=1)[0].rsplit(",", maxsplit=1)[-1].strip()
    if not length:
        return [
            joined(f"{values['place']}에서 {values['person']} {values['role']}|이가 설명하고 있다.")
        ]
    lead = joined(draw.choice(words.LEADS).format(about=about, **values))
    meaning = words.EXPLANATION.format(term=term, meaning=words.TERMS[term])
    paragraphs = [lead]
    for place in range(length):
        fresh = values | {
            "rate": f"{draw.randint(1, 19)}.{draw.randint(0, 9)}",
            "number": f"{draw.randint(101, 989)}.{draw.randint(0, 9)}",
            "won": f"{draw.randint(11, 9800):,}",
            "company": draw.choice(words.COMPANIES),
            "person": draw.choice(words.PEOPLE),
        }
        picked = draw.sample(words.SENTENCES, draw.randint(2, 4))
        if place == 1:
            picked.insert(0, meaning)
        paragraphs.append(joined(" ".join(each.format(**fresh) for each in picked)))
    return paragraphs


def _english(draw: random.Random, values: dict[str, str]) -> list[str]:
    length = _length(draw)
    if not length:
        return ["{latin} headquarters in Seoul.".format(**values)]
    return [
        " ".join(
            each.format(**values)
            for each in draw.sample(words.ENGLISH_SENTENCES, draw.randint(2, 4))
        )
        for _ in range(length)
    ]
