"""Reading lists and articles as the site writes them, also when its templates are broken."""

import json

import pytest

from dure.fetch.failure import ContractChanged
from dure_sandbox import NewsOptions, Sandbox
from dure_sandbox.exchange import Request, Response
from newsroom.article import Article, Kept, read_article
from newsroom.listing import list_url, next_url, read_fragment, read_page

NOW = 1_767_225_600.0
SITE = "https://news.naver.com"


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox(seed=5, news=NewsOptions(articles_per_day=2000))


def ask(sandbox: Sandbox, url: str) -> str:
    request = Request(
        scheme="https", host="news.naver.com", target=url.removeprefix(SITE), headers={}
    )
    answer = sandbox.news.site.answer(request, NOW)
    assert isinstance(answer, Response)
    return answer.body.decode()


def test_pages_follow_by_cursor_without_gap_or_overlap(sandbox: Sandbox) -> None:
    """A1"""
    page = read_page(ask(sandbox, list_url(SITE, "259")), "")
    found = list(page.items)
    for number in range(2, 5):
        assert page.cursor is not None
        url = next_url(SITE, "259", page=number, cursor=page.cursor)
        page = read_fragment(ask(sandbox, url), url)
        found += page.items

    wanted = sandbox.news.site.listed("259", "", NOW)[: 4 * 36]
    assert [f"{facts.oid}-{facts.aid}" for facts in wanted] == [item.id for item in found]
    assert all(item.title and item.url.startswith("https://n.news.naver.com/") for item in found)


def test_the_last_page_has_no_cursor() -> None:
    quiet = Sandbox(news=NewsOptions(articles_per_day=8))

    assert read_page(ask(quiet, list_url(SITE, "259")), "").cursor is None


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html><body><p>점검 중입니다</p></body></html>",
        '<div class="section_latest"><ul><li class="sa_item"><a href="/x">?</a></li></ul></div>',
    ],
)
def test_a_list_that_is_no_list_any_more_is_said_to_be_changed(html: str) -> None:
    with pytest.raises(ContractChanged):
        read_page(html, "https://news.naver.com/list")


@pytest.mark.parametrize("text", ["", "[]", "{}", "<html>", json.dumps({"renderedComponent": {}})])
def test_a_fragment_that_is_none_any_more_is_said_to_be_changed(text: str) -> None:
    with pytest.raises(ContractChanged):
        read_fragment(text, "https://news.naver.com/fragment")


PAGE = """<h2 id="title_area"><span>금리 &amp; 환율</span></h2>
<img class="media_end_head_top_logo_img" title="두레통신">
<span class="x _ARTICLE_DATE_TIME" data-date-time="2025-12-26 04:42:15"></span>
<span class="x _ARTICLE_MODIFY_DATE_TIME" data-modify-date-time="2025-12-26 05:00:00"></span>
<em class="media_end_head_journalist_name">김기자 기자</em>
<div id="newsct_article"><article id="dic_area"><strong class="media_end_summary">요약줄</strong>
<span class="end_photo_org"><em class="img_desc">사진 설명</em></span>첫 문단.<br><br>둘째
 문단.<script>x()</script></article></div>"""


def test_an_article_is_read_without_captions_scripts_and_lead() -> None:
    """A1"""
    article = read_article(PAGE)

    assert (
        Article(
            kept=Kept.OK,
            title="금리 & 환율",
            body="첫 문단.\n둘째\n문단.",
            press="두레통신",
            reporter="김기자 기자",
            published_at=1_766_691_735.0,
            edited_at=1_766_692_800.0,
        )
        == article
    )


def test_a_caption_that_was_never_closed_does_not_swallow_the_article() -> None:
    """A1: browsers, and so parsers, carry an open em on into all that follows."""
    article = read_article(PAGE.replace("사진 설명</em>", "사진 설명"))

    assert "첫 문단.\n둘째\n문단." == article.body


def test_a_notice_and_another_part_of_the_site_are_no_articles() -> None:
    notice = "<html><body><div class='error_msg'>삭제된 기사입니다.</div></body></html>"
    foreign = "<div class='NewsEndMain_x'><div class='_article_content'>스포츠</div></div>"

    assert Kept.DELETED is read_article(notice).kept
    assert Kept.FOREIGN is read_article(foreign).kept


def test_a_page_without_times_or_names_is_read_all_the_same() -> None:
    article = read_article('<article id="dic_area">본문</article>')

    assert ("본문", "", None) == (article.body, article.title, article.published_at)
