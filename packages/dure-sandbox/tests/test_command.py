"""`dure sandbox` as people start it (Z3)."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from dure.cli import sandbox
from dure.cli.main import main
from dure.core.errors import ConfigError


@pytest.mark.process
def test_the_command_says_where_the_sites_are_and_ends_when_interrupted(tmp_path: Path) -> None:
    faults, log = tmp_path / "faults.toml", tmp_path / "log.jsonl"
    faults.write_text('[[fault]]\nkind = "status"\nsite = "news"\ncount = 1\n')
    words = ["--port", "0", "--json", "--faults", str(faults), "--log", str(log)]
    command = [sys.executable, "-m", "dure.cli.main", "sandbox", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            urls = json.loads(started.stdout.readline())
            with urllib.request.urlopen(f"{urls['shop']}/products/1", timeout=10) as reply:
                page = reply.read().decode()
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(f"{urls['news']}/robots.txt", timeout=10)
        finally:
            started.send_signal(signal.SIGINT)
            code = started.wait(timeout=10)

    assert code == 0
    assert "두레상회" in page
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()] == [200, 503]


def test_wrong_options_are_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["sandbox", "--products", "-1"])

    assert code == 2
    assert "from 0 to 1000000000" in capsys.readouterr().err


def test_an_installation_without_the_sandbox_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dure_sandbox.command", None)
    monkeypatch.setitem(sys.modules, "dure_sandbox", None)

    with pytest.raises(ConfigError, match="pip install dure-sandbox"):
        sandbox.run([])
