"""What the command says, in English and in Korean."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LANGUAGES: Final = ("en", "ko")
_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "running": ("running", "실행 중"),
        "waiting": ("waiting for a node", "노드를 기다림"),
        "paused": ("paused", "일시정지"),
        "done": ("done", "완료"),
        "cancelled": ("cancelled", "취소됨"),
        "empty": ("empty", "비어 있음"),
        "FetchListPage": ("fetch list page", "목록 수집"),
        "ParseListPage": ("parse list page", "목록 해석"),
        "FetchProductDetail": ("fetch product", "상품 수집"),
        "ParseProductDetail": ("parse product", "상품 해석"),
        "SaveProduct": ("save product", "상품 저장"),
        "stage": ("stage", "단계"),
        "queue": ("queue", "큐"),
        "workers": ("workers", "작업자"),
        "blocked": ("waited", "대기 발생"),
        "per_minute": ("a minute", "분당"),
        "errors": ("errors", "오류율"),
        "mean": ("mean", "평균"),
        "resting": ("rest", "휴식"),
        "products": ("products", "상품"),
        "lists": ("list pages", "목록"),
        "jobs": ("jobs", "작업"),
        "pages": ("pages", "페이지"),
        "saved": ("saved", "저장"),
        "found": ("found", "발견"),
        "read": ("read", "처리"),
        "kept": ("kept unread", "해석 실패 보관"),
        "failed": ("failed", "실패"),
        "left": ("left", "남음"),
        "retrying": ("retried later", "재시도 대기"),
        "dead": ("dead letters", "데드 레터"),
        "resources": ("resources", "자원"),
        "memory": ("memory", "메모리"),
        "links": ("links", "링크"),
        "new": ("new", "새 주소"),
        "known": ("known", "중복"),
        "asked": ("asked the store", "저장소 조회"),
        "eta": ("over in", "예상 완료"),
        "eta_unknown": ("not known yet", "아직 알 수 없음"),
        "healthy": ("healthy", "정상"),
        "unhealthy": ("unhealthy", "비정상"),
        "accounted": (
            "Every product and every job is accounted for.",
            "모든 상품과 모든 작업의 행방이 확인되었습니다.",
        ),
        "not_accounted": (
            "This run does not add up yet: see what is left above.",
            "아직 맞지 않습니다. 위의 남은 항목을 확인하세요.",
        ),
        "began": (
            "Crawling {session} into {store}. Ctrl-C leaves; the same command goes on.",
            "{session} 수집을 {store}에 기록합니다. Ctrl-C로 멈추고 같은 명령으로 이어집니다.",
        ),
        "did_pause": ("{session} is paused.", "{session}을(를) 일시정지했습니다."),
        "did_resume": ("{session} goes on.", "{session}을(를) 재개했습니다."),
        "did_cancel": (
            "{session} is cancelled: {count} jobs.",
            "{session}을(를) 취소했습니다. 작업 {count}개.",
        ),
        "did_set": (
            "{setting} is {value} now, on every node.",
            "모든 노드에서 {setting} = {value}.",
        ),
        "try_shop": (
            "A shop of {count} products at {url}, a dead host beside it, and faults: {faults}.",
            "{url}에 상품 {count}개의 상점, 응답 없는 호스트 하나, 그리고 장애: {faults}.",
        ),
        "try_killed": (
            "SIGKILL: the crawler is dead. {saved} products were saved by then.",
            "SIGKILL: 수집기가 죽었습니다. 그때까지 상품 {saved}개가 저장되었습니다.",
        ),
        "try_again": (
            "The same command again: it goes on where it was.",
            "같은 명령을 다시 실행합니다. 멈춘 곳에서 이어집니다.",
        ),
        "try_paused": (
            "Paused: {asked} requests in {seconds} s.",
            "일시정지: {seconds}초 동안 요청 {asked}건.",
        ),
        "try_refused": ("Refused: {why}", "거부됨: {why}"),
        "try_struck": ("Faults that struck: {struck}.", "일어난 장애: {struck}."),
        "try_right": (
            "As the shop has them: {right} of {count}. Asked again: {again}. Twice: {twice}.",
            "상점과 일치: {right}/{count}. 저장 후 재요청: {again}. 중복 저장: {twice}.",
        ),
        "try_good": ("All of it is as promised.", "모두 약속대로입니다."),
        "try_late": (
            "The rehearsal was not over within {seconds} s: this machine is too busy for it.",
            "시연이 {seconds}초 안에 끝나지 않았습니다. 이 컴퓨터가 너무 바쁩니다.",
        ),
        "try_bad": ("This is not as promised.", "약속과 다릅니다."),
        "error": ("error", "오류"),
        "hint": ("what to do", "조치"),
        "advice": ("advice", "조언"),
        "no_advice": ("Nothing stands out.", "눈에 띄는 점이 없습니다."),
        "share": ("of parsing", "해석 비중"),
    }
)


class Words:
    """One language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._at = LANGUAGES.index(language)

    def __call__(self, key: str, **given: object) -> str:
        """What `key` is called; a word without a translation stays as it is."""
        words = _WORDS.get(key)
        return (key if words is None else words[self._at]).format(**given)


def language_of(locale: str) -> str:
    """The language of a locale such as `ko_KR.UTF-8`; English unless it is Korean."""
    return "ko" if locale.lower().startswith("ko") else "en"
