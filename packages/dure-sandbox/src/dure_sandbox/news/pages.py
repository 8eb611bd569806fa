"""The news site's HTML: the list area with its cursor, and the page of an article."""

from html import escape
from typing import Final

from dure_sandbox.lots import mixed
from dure_sandbox.news.prose import Story, title_of
from dure_sandbox.news.sections import SECTIONS
from dure_sandbox.news.stream import Facts, Look, text_of


def section_page(section: str, area: str) -> str:
    name = SECTIONS[section]
    links = "".join(
        f'<li class="ct_snb_nav_item"><a class="ct_snb_nav_item_link" '
        f'href="/breakingnews/section/101/{each}">{title}</a></li>'
        for each, title in SECTIONS.items()
    )
    return (
        '<!doctype html>\n<html lang="ko">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{name} : 두레뉴스</title>\n</head>\n<body>\n"
        f'<ul class="ct_snb_nav" role="menu">{links}</ul>\n'
        f'<div id="newsct" class="newsct"><div class="section_latest">\n{area}</div></div>\n'
        "</body>\n</html>\n"
    )


def area(
    seed: int, shown: list[Facts], *, origin: str, page: int, cursor: str | None, now: float
) -> str:
    """The list area; it carries the cursor of the page after it."""
    items = "".join(
        _item(seed, each, rank, origin, now) for rank, each in enumerate(shown, 36 * page - 35)
    )
    has_next = "true" if cursor else "false"
    return (
        '<div class="section_latest_article _CONTENT_LIST _PERSIST_META" '
        f'data-cursor-name="next" data-cursor="{cursor or ""}" data-has-next="{has_next}" '
        f'data-page-no="{page}">\n<div class="section_article _TEMPLATE" '
        f'data-template-id="SECTION_ARTICLE_LIST_FOR_LATEST">\n<ul class="sa_list">\n{items}'
        "</ul>\n</div>\n</div>\n"
    )


def _item(seed: int, facts: Facts, rank: int, origin: str, now: float) -> str:
    title = escape(title_of(seed, facts, facts.version(now)))
    link = f"{origin}/mnews/article/{facts.oid}/{facts.aid}"
    passed = now - facts.published_at
    recent = " is_recent" if passed < 3600 else ""
    thumb = ""
    if mixed(seed, facts.number, 21) % 3:
        thumb = (
            f'<div class="sa_thumb"><div class="sa_thumb_inner"><a href="{link}" '
            f'class="sa_thumb_link _NLOG_IMPRESSION"><img class="_LAZY_LOADING" '
            f'data-src="{origin}/image/{facts.oid}/{facts.aid}.jpg" width="86" height="86" '
            f'alt="{title}"></a></div></div>'
        )
    return (
        '<li class="sa_item _LAZY_LOADING_WRAP"><div class="sa_item_inner">'
        f'<div class="sa_item_flex">{thumb}<div class="sa_text">'
        f'<a href="{link}" class="sa_text_title _NLOG_IMPRESSION" data-rank="{rank}" '
        f'data-gdid="{mixed(seed, facts.number, 22):016x}">'
        f'<strong class="sa_text_strong">{title}</strong></a>'
        '<div class="sa_text_info"><div class="sa_text_info_left">'
        f'<div class="sa_text_press">{escape(facts.press.name)}</div>'
        f'<div class="sa_text_datetime{recent}"><b>{_ago(passed)}</b></div>'
        '<a class="sa_text_cmt _COMMENT_COUNT_LIST" '
        f'href="{origin}/mnews/article/comment/{facts.oid}/{facts.aid}" '
        f'data-object-id="news{facts.oid},{facts.aid}"></a>'
        "</div></div></div></div></div></li>\n"
    )


def _ago(seconds: float) -> str:
    if seconds < 60:
        return "방금전"
    if seconds < 3600:
        return f"{int(seconds // 60)}분전"
    return f"{int(seconds // 3600)}시간전" if seconds < 86_400 else f"{int(seconds // 86_400)}일전"


_EDITED: Final = (
    '<div class="media_end_head_info_datestamp_bunch"><em '
    'class="media_end_head_info_datestamp_term">수정</em><span '
    'class="media_end_head_info_datestamp_time _ARTICLE_MODIFY_DATE_TIME" '
    'data-modify-date-time="{at}">{at}</span></div>'
)


def article_page(facts: Facts, told: Story, *, origin: str, now: float) -> str:
    title, press = escape(told.title), escape(facts.press.name)
    published = text_of(facts.published_at)
    edited = ""
    if facts.edited_at is not None and facts.version(now):
        edited = _EDITED.format(at=text_of(facts.edited_at))
    text = (
        '<!doctype html>\n<html lang="ko">\n<head>\n'
        f'<meta charset="{facts.press.charset}">\n<title>{title}</title>\n'
        f'<meta property="og:title" content="{title}">\n</head>\n<body>\n'
        '<div id="ct_wrap" class="ct_scroll_wrapper"><div class="media_end_head go_trans">'
        '<div class="media_end_head_top"><a class="media_end_head_top_logo" '
        f'href="{origin}/press/{facts.oid}"><img class="media_end_head_top_logo_img" '
        f'src="{origin}/logo/{facts.oid}.png" title="{press}" alt="{press}"></a></div>'
        '<div class="media_end_head_title"><h2 id="title_area" class="media_end_head_headline">'
        f'<span>{title}</span></h2></div><div class="media_end_head_info nv_notrans">'
        '<div class="media_end_head_info_datestamp">'
        '<div class="media_end_head_info_datestamp_bunch"><em '
        'class="media_end_head_info_datestamp_term">입력</em><span '
        'class="media_end_head_info_datestamp_time _ARTICLE_DATE_TIME" '
        f'data-date-time="{published}">{published}</span></div>{edited}'
        f'<a href="{origin}/original/{facts.oid}/{facts.aid}" class="media_end_head_origin_link">'
        '기사원문</a></div><div class="media_end_head_journalist">'
        f'<em class="media_end_head_journalist_name">{told.reporter}</em></div></div></div>\n'
        f'<div id="newsct_article" class="newsct_article _article_body">\n{_body(facts, told)}'
        '</div>\n<div class="media_end_categorize"><em class="media_end_categorize_item">경제</em>'
        f'</div>\n<span class="byline_s">{told.reporter}</span></div>\n</body>\n</html>\n'
    )
    return _mangled(text) if facts.look is Look.MANGLED else text


def _body(facts: Facts, told: Story) -> str:
    photo = ""
    if facts.number % 2:
        photo = (
            '<span class="end_photo_org"><div class="nbd_im_w"><div class="nbd_a">'
            f'<img id="img1" class="_LAZY_LOADING" data-src="/image/{facts.aid}.jpg"></div>'
            f'<em class="img_desc">{escape(told.caption)}</em></div></span><br>'
        )
    summary = ""
    if facts.number % 5 == 0:
        summary = f'<strong class="media_end_summary">{escape(told.title)}</strong><br>'
    text = "<br><br>\n".join(escape(each, quote=False) for each in told.paragraphs)
    inside = f"{summary}{photo}{text}"
    return f'<article id="dic_area" class="go_trans _article_content">{inside}</article>\n'


def _mangled(text: str) -> str:
    """What a broken template leaves: ends that are missing, a tag that stops in the middle."""
    text = text.replace("</span></h2>", "</h2>").replace("</em></div>", "</div>")
    text = text.replace("<br><br>\n", "<br></p><font color=#333><br>\n")
    return text.replace("</body>\n</html>\n", '<div class="ad" data-x="<script\n')


def gone_page() -> str:
    return (
        '<!doctype html>\n<html lang="ko"><head><meta charset="utf-8">'
        '<title>두레뉴스</title></head><body><div class="error_msg">'
        '<h2 class="error_tit">언론사 요청에 의해 삭제된 기사입니다.</h2>'
        '<a href="/">뉴스홈</a></div></body></html>\n'
    )


def moved_page(facts: Facts, told: Story) -> str:
    """Another part of the site, whose classes carry hashes and whose body has another name."""
    tail = f"{mixed(1, facts.number) % 36**5:05x}"
    text = "<br><br>\n".join(escape(each, quote=False) for each in told.paragraphs)
    return (
        '<!doctype html>\n<html lang="ko"><head><meta charset="utf-8">'
        f"<title>{escape(told.title)}</title></head><body>"
        f'<div class="NewsEndMain_comp_article_{tail}">'
        f'<h2 class="NewsEndMain_article_title__{tail}">'
        f'{escape(told.title)}</h2><em class="date">{text_of(facts.published_at)}</em>'
        f'<div class="_article_content">{text}</div></div></body></html>\n'
    )
