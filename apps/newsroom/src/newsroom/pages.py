"""The paper as HTML: rendered here, in Korean and English, without anything from elsewhere."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Final
from urllib.parse import urlencode

from newsroom.article import KOREA
from newsroom.prompts import KINDS, Insight, Quiz, Summary, TermCards
from newsroom.reading import PAGE, Shown
from newsroom.report import Counts
from newsroom.sections import SECTIONS
from newsroom.words import other, word


def front(
    shown: Sequence[Shown], counts: Counts, *, section: str, language: str, least: int, now: float
) -> str:
    """The list of a section, or of all. Bodies shorter than `least` get no analysis."""
    cards = "".join(_card(each, language, least) for each in shown)
    empty = f'<p class="empty">{word("nothing", language)}</p>'
    older = ""
    if len(shown) == PAGE:
        last = {"before": repr(shown[-1].at), "below": shown[-1].id}
        query = urlencode({"section": section, "lang": language, **last})
        older = f'<p class="older"><a href="/?{escape(query)}">{word("older", language)}</a></p>'
    return _page(
        word("today", language),
        f'<h1>{word("today", language)}</h1><p class="date">{_day(now, language)}</p>'
        f"{_counts(counts, language)}{_sections(section, language)}"
        f'<div class="cards">{cards or empty}</div>{older}',
        path=f"/?section={section}",
        language=language,
    )


def article(shown: Shown, language: str, least: int) -> str:
    """One article with all that was made of it."""
    parts = "".join(_parts(shown, language))
    if not parts:
        parts = f'<p class="empty">{word(_why_not(shown, least), language)}</p>'
    models = ", ".join(sorted(shown.models))
    made = f" ({word('made_by', language)}: {escape(models)})" if models else ""
    text = "".join(f"<p>{escape(line)}</p>" for line in shown.body.splitlines())
    return _page(
        shown.title,
        f'<article><p class="back"><a href="/?lang={language}">← {word("back", language)}</a></p>'
        f"<h1>{_urgent(shown, language)}{escape(shown.title)}</h1>"
        f"{_meta(shown, language)}{parts}"
        f'<p class="note">{word("by_machine", language)}{made}</p>'
        f"<details><summary>{word('text', language)}</summary>{text}</details></article>",
        path=f"/articles/{shown.oid}/{shown.aid}?",
        language=language,
    )


def nothing(language: str) -> str:
    """For an address that no article has."""
    sentence = word("no_page", language)
    back = f'<p class="back"><a href="/?lang={language}">← {word("back", language)}</a></p>'
    return _page(sentence, f"<h1>{sentence}</h1>{back}", path="/?", language=language)


def _page(title: str, inside: str, *, path: str, language: str) -> str:
    switch = escape(f"{path}&lang={other(language)}")
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · {word('paper', language)}</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"></head><body>'
        f'<header><a class="paper" href="/?lang={language}">{word("paper", language)}</a>'
        f'<a class="language" href="{switch}">{word("language", language)}</a></header>'
        f"<main>{inside}</main></body></html>\n"
    )


def _counts(counts: Counts, language: str) -> str:
    shown = (
        ("articles", counts.articles),
        ("complete", counts.complete),
        ("in_work", counts.in_work),
        ("suspended", counts.suspended),
        ("dead", counts.dead),
    )
    parts = "".join(
        f'<span class="{key}"><b>{number:,}</b> {word(key, language)}</span>'
        for key, number in shown
    )
    return f'<p class="counts">{parts}</p>'


def _sections(chosen: str, language: str) -> str:
    names = [("", word("all", language))]
    names += [
        (each.name, each.korean if language == "ko" else each.english) for each in SECTIONS.values()
    ]
    current = {chosen: ' aria-current="page"'}
    links = "".join(
        f'<a href="/?section={name}&amp;lang={language}"{current.get(name, "")}>{escape(text)}</a>'
        for name, text in names
    )
    return f'<nav class="sections">{links}</nav>'


def _card(shown: Shown, language: str, least: int) -> str:
    summary = shown.answers.get("SUMMARY")
    match summary:
        case Summary():
            text = f"<p>{escape(summary.summary)}</p>"
        case _:
            text = f'<p class="quiet">{word(_why_not(shown, least), language)}</p>'
    dots = "".join(f'<i class="{"on" if kind in shown.answers else "off"}"></i>' for kind in KINDS)
    done = f"{len(shown.answers)}/{len(KINDS)}"
    link = f"/articles/{shown.oid}/{shown.aid}?lang={language}"
    return (
        f'<section class="card"><h2><a href="{link}">{_urgent(shown, language)}'
        f"{escape(shown.title)}</a></h2>{_meta(shown, language)}{text}"
        f'<p class="dots" title="{done}">{dots}</p></section>'
    )


def _why_not(shown: Shown, least: int) -> str:
    """Why there is no summary."""
    if shown.kept != "ok":
        return shown.kept
    return "waiting" if shown.characters >= least else "short"


def _meta(shown: Shown, language: str) -> str:
    section = SECTIONS.get(shown.section)
    name = "" if section is None else (section.korean if language == "ko" else section.english)
    parts = [escape(name), escape(shown.press), _moment(shown.at)]
    if shown.version > 1:
        edited = f" {_moment(shown.edited_at)}" if shown.edited_at else ""
        parts.append(f"{word('edited', language)}{edited} ({shown.version})")
    if shown.url.startswith(("https://", "http://")):
        parts.append(
            f'<a href="{escape(shown.url)}" rel="noreferrer">{word("original", language)}</a>'
        )
    return f'<p class="meta">{" · ".join(part for part in parts if part)}</p>'


def _urgent(shown: Shown, language: str) -> str:
    return f'<span class="urgent">{word("urgent", language)}</span> ' if shown.is_urgent else ""


def _parts(shown: Shown, language: str) -> Iterable[str]:
    """What there is, in the order of the kinds."""
    for kind in KINDS:
        match shown.answers.get(kind):
            case Summary() as made:
                text = f"<h3>{escape(made.headline)}</h3><p>{escape(made.summary)}</p>"
                yield _part("summary", language, text)
            case TermCards() as made:
                cards = "".join(
                    f"<div><dt>{escape(card.term)}</dt><dd>{escape(card.meaning)}</dd></div>"
                    for card in made.cards
                )
                yield _part("terms", language, f'<dl class="terms">{cards}</dl>')
            case Insight() as made:
                outlook = f'<span class="{made.outlook}">{word(made.outlook, language)}</span>'
                yield _part(
                    "insight",
                    language,
                    f"<p>{escape(made.insight)}</p><p>{word('outlook', language)}: {outlook} — "
                    f"{escape(made.reason)}</p>",
                )
            case Quiz() as made:
                about = "about_content" if kind == "QUIZ_CONTENT" else "about_term"
                yield _part("quiz", language, _quiz(made, language), f" · {word(about, language)}")
            case _:
                pass


def _part(key: str, language: str, inside: str, more: str = "") -> str:
    return f'<section class="part"><h2>{word(key, language)}{more}</h2>{inside}</section>'


def _quiz(quiz: Quiz, language: str) -> str:
    choices = "".join(f"<li>{escape(choice)}</li>" for choice in quiz.choices)
    number = quiz.choices.index(quiz.answer) + 1
    return (
        f"<p>{escape(quiz.question)}</p><ol>{choices}</ol><details><summary>"
        f"{word('answer', language)}</summary><p><b>{number}. {escape(quiz.answer)}</b></p>"
        f"<p>{escape(quiz.explanation)}</p></details>"
    )


_WEEKDAYS: Final = ("월", "화", "수", "목", "금", "토", "일")


def _day(now: float, language: str) -> str:
    here = datetime.fromtimestamp(now, KOREA)
    if language == "ko":
        return f"{here.year}년 {here.month}월 {here.day}일 {_WEEKDAYS[here.weekday()]}요일"
    return f"{here:%A}, {here.day} {here:%B %Y}"


def _moment(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at, KOREA):%Y-%m-%d %H:%M}"
