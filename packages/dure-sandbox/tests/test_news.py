"""The news site: lists, cursors, and articles that live their lives (A1, Z3)."""

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from dure.core.errors import ConfigError
from dure_sandbox.exchange import Request, Response
from dure_sandbox.news.korean import joined
from dure_sandbox.news.prose import story
from dure_sandbox.news.sections import SECTIONS
from dure_sandbox.news.site import TEMPLATE, News, NewsOptions
from dure_sandbox.news.stream import Facts, Look, day_of, text_of

NOW = 1_767_225_600.0 + 5 * 3600
"""2026-01-01 14:00 in Korea."""
DAY = "20260101"
HOUR = timedelta(hours=1).total_seconds()


def news(per_day: int = 2000) -> News:
    return News(1, NewsOptions(articles_per_day=per_day))


def ask(site: News, target: str, now: float = NOW, host: str = "news.test") -> Response:
    return site.answer(Request(target=target, host=host, headers={}), now)


def names(text: str) -> list[str]:
    return re.findall(r'/mnews/article/(\d{3}/\d{10})" class="sa_text_title', text)


def page(site: News, section: str, cursor: str, number: int) -> str:
    target = (
        f"/section/template/{TEMPLATE}?sid=101&sid2={section}&cluid=&pageNo={number}"
        f"&date={DAY}&next={cursor}"
    )
    content = json.loads(ask(site, target).body)
    text = content["renderedComponent"][TEMPLATE]
    assert isinstance(text, str)
    return text


def cursor_of(text: str) -> str:
    found = re.search(r'data-cursor="(\d*)"', text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("per_day", [2000, 200_000])
def test_cursors_lead_through_all_articles_of_a_day_once(per_day: int) -> None:
    site = news(per_day)
    text = ask(site, f"/breakingnews/section/101/259?date={DAY}").body.decode()
    seen = names(text)
    number = 1
    while cursor_of(text) and number < 8:
        number += 1
        text = page(site, "259", cursor_of(text), number)
        assert f'data-page-no="{number}"' in text
        seen += names(text)

    expected = [f"{each.oid}/{each.aid}" for each in site.listed("259", DAY, NOW)]
    assert seen == expected[: len(seen)]
    assert len(seen) == len(set(seen)) == min(len(expected), 288)
    if per_day == 2000:
        assert 'data-has-next="false"' in text


def test_a_page_number_without_a_cursor_repeats_the_first_page() -> None:
    """The trap of the real site: a crawler that only counts pages never ends."""
    site = news()
    first = page(site, "258", "", 1)

    assert names(first) == names(page(site, "258", "", 2)) == names(page(site, "258", "x", 3))


def test_an_item_of_the_list_has_the_true_shape() -> None:
    text = ask(news(), f"/breakingnews/section/101/261?date={DAY}").body.decode()

    for part in (
        "section_latest",
        'class="section_latest_article _CONTENT_LIST _PERSIST_META"',
        'data-cursor-name="next"',
        "sa_item _LAZY_LOADING_WRAP",
        "sa_text_strong",
        "sa_text_press",
        "분전</b>",
        'data-object-id="news',
    ):
        assert part in text


def test_an_article_page_has_title_body_and_times() -> None:
    site = news()
    facts = find(site, lambda each: each.look is Look.PLAIN and each.press.oid == "001")
    text = article(site, facts, NOW).body.decode()
    told = site.story(facts, NOW)

    assert told.title in text
    assert told.paragraphs[0] in text
    assert f'data-date-time="{text_of(facts.published_at)}"' in text
    assert 'id="title_area"' in text
    assert '<article id="dic_area"' in text


def test_an_edited_article_keeps_its_name_and_changes_its_text_and_time() -> None:
    site = news()
    facts = find(site, lambda each: each.edited_at is not None and each.look is Look.PLAIN)
    assert facts.edited_at is not None
    before = article(site, facts, facts.edited_at - 1)
    after = article(site, facts, facts.edited_at)

    assert b"_ARTICLE_MODIFY_DATE_TIME" not in before.body
    assert b"_ARTICLE_MODIFY_DATE_TIME" in after.body
    assert before.header("etag") != after.header("etag")


def test_a_deleted_article_leaves_the_list_and_shows_a_notice_or_404() -> None:
    site = news()
    deleted = [each for each in of_day(site) if each.deleted_at is not None]
    statuses = set()
    for each in deleted:
        assert each.deleted_at is not None
        gone = article(site, each, each.deleted_at)
        statuses.add(gone.status)
        assert b"dic_area" not in gone.body
        later = site.listed(each.sections[0], day_of(each.published_at), each.deleted_at)
        assert each not in later

    assert statuses == {200, 404}


def test_some_articles_are_listed_in_two_sections() -> None:
    site = news()
    lists = {s: {each.number for each in site.listed(s, DAY, NOW)} for s in SECTIONS}
    today = [each for each in of_day(site) if day_of(each.published_at) == DAY]
    shared = [each for each in today if len(each.sections) == 2 and not each.deleted_at]

    assert shared
    assert all(each.number in lists[s] for each in shared for s in each.sections)


def test_some_presses_write_euc_kr_and_one_says_so_only_in_the_page() -> None:
    site = news()
    for oid, kind in (("629", "text/html; charset=euc-kr"), ("648", "text/html")):
        plain = [each for each in of_day(site) if each.look is Look.PLAIN]
        facts = next(each for each in plain if each.oid == oid and not each.is_deleted(NOW))
        answer = article(site, facts, NOW)

        assert answer.header("content-type") == kind
        assert site.story(facts, NOW).title in answer.body.decode("euc-kr")


def test_some_pages_are_broken_and_some_have_moved() -> None:
    site = news()
    mangled = find(site, lambda each: each.look is Look.MANGLED)
    moved = find(site, lambda each: each.look is Look.MOVED)
    redirect = article(site, moved, NOW)
    place = (redirect.header("location") or "").removeprefix("http://news.test")

    assert b"</html>" not in article(site, mangled, NOW).body
    assert redirect.status == 302
    assert b"NewsEndMain_" in ask(site, place).body


def test_what_is_not_published_yet_or_never_was_is_not_there() -> None:
    site = news()
    facts = site.stream.facts(site.stream.newest(NOW) + 1)

    assert article(site, facts, NOW).status == 404
    assert article(site, facts, facts.published_at).status != 404
    assert ask(site, "/mnews/article/999/0000000001").status == 404
    assert ask(site, "/breakingnews/section/101/999").status == 404
    assert ask(site, "/breakingnews/section/101/259?date=soon").status == 400


def test_an_earlier_day_can_be_asked_for_and_is_complete() -> None:
    listed = news().listed("263", "20251224", NOW)

    assert {day_of(each.published_at) for each in listed} == {"20251224"}
    assert 240 <= len(listed) <= 300


def test_bodies_have_different_lengths_and_some_are_too_short_for_a_summary() -> None:
    """A2."""
    site = news()
    lengths = [len(" ".join(story(1, each, 0).paragraphs)) for each in of_day(site)]

    short = sum(1 for each in lengths if each < 100) / len(lengths)
    assert 0.05 < short < 0.2
    assert max(lengths) > 1500


def test_the_same_seed_writes_the_same_and_another_seed_something_else() -> None:
    target = f"/breakingnews/section/101/259?date={DAY}"
    other = News(2, NewsOptions())

    assert ask(news(), target) == ask(news(), target)
    assert ask(news(), target) != ask(other, target)


def test_particles_follow_the_end_of_the_word() -> None:
    text = joined("금리|은는 은행|이가 물가|을를 서울|으로 5|과와 비용|이라 값")

    assert text == "금리는 은행이 물가를 서울로 5와 비용이라 값"


def test_a_senseless_number_of_articles_is_refused() -> None:
    with pytest.raises(ConfigError, match="8 to 1000000"):
        NewsOptions(articles_per_day=0)


def of_day(site: News) -> list[Facts]:
    newest = site.stream.newest(NOW)
    return [site.stream.facts(number) for number in range(newest - 1500, newest)]


def find(site: News, wanted: Callable[[Facts], bool]) -> Facts:
    return next(each for each in of_day(site) if wanted(each) and not each.is_deleted(NOW))


def article(site: News, facts: Facts, now: float) -> Response:
    return ask(site, f"/mnews/article/{facts.oid}/{facts.aid}", now)
