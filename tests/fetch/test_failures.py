"""Every failure has one class, one cure, and shows no secret."""

import json
import logging
from typing import TYPE_CHECKING

import pytest

import dure
from dure.core.outcome import Fail, Retry, Skip, Suspend, Wait
from dure.fetch import (
    ERRORS,
    Failure,
    Fetcher,
    FetchError,
    FetchPolicy,
    Manners,
    Page,
    Robots,
    Validators,
    failure as failures,
)
from dure.fetch.failure import RateLimited, cure
from dure.fetch.redact import redact, redact_headers, redact_url
from dure.fetch.verdict import judge, retry_after
from dure.testing import in_virtual_time, running
from dure.testing.virtual import VirtualClock
from dure.testing.wire import Answer, ScriptedWire

if TYPE_CHECKING:
    from dure.core.outcome import Outcome

RULES = FetchPolicy(robots=Robots.IGNORE, manners=Manners(delay=0.0))
URL = "https://api.example/list?page=1&crtfc_key=s3cr3t"


def every_error(kind: type[FetchError] = FetchError) -> list[type[FetchError]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in every_error(sub))]


def test_every_failure_has_its_own_stable_code_and_a_cure() -> None:
    """E5"""
    kinds = every_error()

    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.failure for kind in kinds} == set(Failure)
    assert all(cure(kind("x")) for kind in kinds)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("Unavailable", Retry),
        ("RateLimited", Retry),
        ("Blocked", Retry),
        ("HostResting", Wait),
        ("RobotsUnreachable", Retry),
        ("RobotsDisallowed", Skip),
        ("NotThere", Skip),
        ("AuthRequired", Suspend),
        ("ContractChanged", Fail),
        ("AddressRefused", Fail),
    ],
)
def test_each_class_has_its_own_cure(kind: str, outcome: "type[Outcome]") -> None:
    """X4"""
    assert isinstance(cure(getattr(failures, kind)("x", retry_after=3.0)), outcome)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, None),
        (206, None),
        (304, None),
        (301, Failure.CONTRACT_CHANGED),
        (400, Failure.OURS),
        (401, Failure.AUTH),
        (403, Failure.BLOCKED),
        (404, Failure.NO_DATA),
        (408, Failure.TRANSIENT),
        (410, Failure.NO_DATA),
        (429, Failure.RATE_LIMITED),
        (451, Failure.BLOCKED),
        (500, Failure.TRANSIENT),
        (503, Failure.TRANSIENT),
        (599, Failure.TRANSIENT),
    ],
)
@in_virtual_time
async def test_a_status_has_one_class(status: int, expected: Failure | None) -> None:
    wire = ScriptedWire(lambda _: Answer(status))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        if expected is None:
            assert (await fetcher.get(URL)).status == status
            return
        with pytest.raises(FetchError) as caught:
            await fetcher.get(URL)

    assert caught.value.failure is expected
    assert caught.value.page is not None
    assert caught.value.host == "api.example"


@in_virtual_time
async def test_a_source_that_hides_its_limit_in_a_500_is_judged_by_its_body() -> None:
    """E2: EGW00201 comes with status 500 and is a limit, not an outage"""

    def of_source(page: Page) -> FetchError | None:
        if b"EGW00201" in page.body:
            return RateLimited("too many calls a second", retry_after=1.0, page=page)
        return judge(page)

    body = json.dumps({"rt_cd": "1", "msg_cd": "EGW00201"}).encode()
    wire = ScriptedWire(lambda _: Answer(500, body))
    async with Fetcher(RULES.but(judge=of_source), wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(RateLimited) as caught:
            await fetcher.get(URL)

        assert caught.value.retry_after == pytest.approx(1.0)
        assert fetcher.host(URL).describe(VirtualClock().monotonic()).ready_in == pytest.approx(1.0)


@in_virtual_time
async def test_a_job_whose_page_is_refused_for_its_pace_comes_back_after_retry_after() -> None:
    """X4: the failure's cure becomes the job's next state"""
    answers = [Answer(429, headers={"Retry-After": "90"}), Answer()]
    wire = ScriptedWire(lambda _: answers.pop(0))
    app = dure.App(":memory:")
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:

        @app.kind(errors=ERRORS, retry=dure.RetryPolicy.of(3, base=1.0))
        async def visit(url: str) -> str:
            return (await fetcher.get(url)).text

        async with running(app) as t:
            receipt = await t.enqueue(visit(URL))
            await t.advance("2m")
            record = await t.job(receipt.id)

    assert record.state is dure.State.SUCCESS
    assert 90.0 <= wire.times[1] - wire.times[0] <= 100.0


@in_virtual_time
async def test_a_page_that_did_not_change_is_not_sent_again() -> None:
    def script(call: object) -> Answer:
        known = call.headers.get("If-None-Match") == '"v1"'  # type: ignore[attr-defined]
        return Answer(304, b"") if known else Answer(headers={"ETag": '"v1"'})

    wire = ScriptedWire(script)
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        first = await fetcher.get(URL)
        second = await fetcher.get(URL, validators=first.validators)

    assert first.validators == Validators('"v1"')
    assert not first.is_not_modified
    assert second.is_not_modified


@in_virtual_time
async def test_a_redirect_to_another_origin_does_not_carry_credentials() -> None:
    targets = ["https://api.example/two", "https://other.example/three"]
    wire = ScriptedWire(
        lambda _: Answer(302, headers={"Location": targets.pop(0)}) if targets else Answer()
    )
    secret = {"Authorization": "Bearer x", "appkey": "k", "Accept-Language": "ko"}
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        page = await fetcher.get("https://api.example/one", headers=secret)

    sent = [sorted(set(call.headers) & set(secret)) for call in wire.calls]
    assert sent == [sorted(secret), sorted(secret), ["Accept-Language"]]
    assert (page.asked, page.url) == ("https://api.example/one", "https://other.example/three")


@in_virtual_time
async def test_a_post_that_is_redirected_becomes_a_get_without_a_body() -> None:
    answers = [Answer(302, headers={"Location": "/done"}), Answer()]
    wire = ScriptedWire(lambda _: answers.pop(0))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        await fetcher.send("POST", URL, headers=form, body=b"a=1")

    assert [(call.method, call.body) for call in wire.calls] == [("POST", b"a=1"), ("GET", None)]
    assert "Content-Type" not in wire.calls[1].headers


@in_virtual_time
async def test_a_session_is_kept_for_its_own_host_only() -> None:
    cookie = {"Set-Cookie": "JSESSIONID=abc; Path=/; Domain=example; HttpOnly"}
    wire = ScriptedWire(lambda _: Answer(headers=cookie))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        for url in ("https://a.example/", "https://a.example/x", "https://b.example/"):
            await fetcher.get(url)

    sent = [call.headers.get("Cookie") for call in wire.calls]
    assert sent == [None, "JSESSIONID=abc", None]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("Thu, 99 Foo 9999", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    text: str | None, seconds: float | None
) -> None:
    assert retry_after(text, 10.0) == seconds


@in_virtual_time
async def test_secrets_appear_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Z5"""
    caplog.set_level(logging.DEBUG)
    wire = ScriptedWire(lambda _: Answer(500))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(FetchError) as caught:
            await fetcher.get(URL, headers={"Authorization": "Bearer s3cr3t"})

    said = f"{caught.value} {caught.value!r} {caught.value.url} {cure(caught.value)} {caplog.text}"
    assert "s3cr3t" not in said
    assert "page=1" in said


@pytest.mark.parametrize(
    "text",
    [
        "https://user:s3cr3t@h.example/",
        "https://h.example/?appkey=s3cr3t&a=1",
        "https://h.example/?access_token=s3cr3t#x",
        '{"appsecret": "s3cr3t", "a": 1}',
        "{'pw': 's3cr3t'}",
        "AUTH_KEY: s3cr3t",
        "Authorization: Bearer s3cr3t",
        "Cookie: JSESSIONID=s3cr3t",
        "mbrId=x&pw=s3cr3t",
        "sent with Bearer s3cr3tTOKEN",
        "my_api_key=s3cr3t",
    ],
)
def test_a_secret_in_any_place_is_hidden(text: str) -> None:
    """Z5"""
    assert "s3cr3t" not in redact(text)
    assert redact(redact(text)) == redact(text)


def test_what_is_not_a_secret_stays_readable() -> None:
    url = "https://n.news.example/article/001/0015?sid=101&page=2&monkey=1"

    assert redact_url(url) == url
    assert redact("tokens: 15, keyword=economy") == "tokens: 15, keyword=economy"
    assert redact_headers([("Cookie", "a=b"), ("Accept", "x")]) == [
        ("Cookie", "***"),
        ("Accept", "x"),
    ]
