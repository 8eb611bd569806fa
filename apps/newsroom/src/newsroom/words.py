"""What readers see, in Korean and English."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LANGUAGES: Final = ("ko", "en")

_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "paper": ("두레 경제신문", "Dure Economy"),
        "today": ("오늘의 경제 기사", "Economy news of today"),
        "all": ("전체", "All"),
        "urgent": ("속보", "Urgent"),
        "summary": ("요약", "Summary"),
        "terms": ("용어 카드", "Terms"),
        "insight": ("인사이트", "Insight"),
        "quiz": ("퀴즈", "Quiz"),
        "about_content": ("내용", "About the article"),
        "about_term": ("용어", "About a term"),
        "outlook": ("전망", "Outlook"),
        "positive": ("긍정적", "Positive"),
        "neutral": ("중립", "Neutral"),
        "negative": ("부정적", "Negative"),
        "answer": ("정답 보기", "Show the answer"),
        "original": ("기사 원문", "Original article"),
        "text": ("수집한 본문", "Collected text"),
        "edited": ("수정", "Edited"),
        "version": ("판", "Version"),
        "waiting": ("분석을 기다리는 중입니다.", "Waiting for its analysis."),
        "short": ("짧은 기사라 분석하지 않습니다.", "Too short for an analysis."),
        "deleted": ("언론사가 삭제한 기사입니다.", "Taken back by its publisher."),
        "foreign": (
            "다른 형식의 페이지라 수집하지 않았습니다.",
            "A page of another kind, which is not collected.",
        ),
        "nothing": ("아직 기사가 없습니다.", "There are no articles yet."),
        "older": ("이전 기사", "Older articles"),
        "back": ("목록으로", "Back to the list"),
        "made_by": ("작성", "Made by"),
        "articles": ("기사", "articles"),
        "complete": ("분석 완료", "analysed"),
        "in_work": ("작업 중", "in work"),
        "dead": ("실패", "failed"),
        "suspended": ("보류", "suspended"),
        "no_page": ("그런 기사는 없습니다.", "There is no such article."),
        "language": ("English", "한국어"),
        "by_machine": (
            "요약·용어·인사이트·퀴즈는 모델이 작성했으며 틀릴 수 있습니다.",
            "Summaries, terms, insights and quizzes were written by a model and may be wrong.",
        ),
    }
)


def word(key: str, language: str) -> str:
    """A word in a language."""
    return _WORDS[key][LANGUAGES.index(language)]


def other(language: str) -> str:
    """The language one can change to."""
    return LANGUAGES[1 - LANGUAGES.index(language)]
