"""Storage that does not answer: what is said meanwhile, and what is given up at once."""

import socket
import time

import pytest

from evaljudge.errors import StorageLost, UserError
from evaljudge.storage import failures as waiting
from evaljudge.storage.failures import patiently
from evaljudge.storage.place import Place


def silent() -> None:
    raise OSError("timed out\nand more")


def test_a_line_says_what_is_waited_for_and_not_again_at_each_try(monkeypatch, capsys, hasty):
    monkeypatch.setattr(waiting._Known, "said", -waiting.BETWEEN)
    monkeypatch.setattr(waiting._Known, "hosts", {"s3://bucket"})
    with pytest.raises(StorageLost):
        patiently("s3://bucket/run", silent, 0.1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(waiting, "SILENCE", 0.03)
    for _ in range(2):
        with pytest.raises(StorageLost):
            patiently("s3://bucket/run", silent, 0.3)
    said = "waiting for s3://bucket/run: no answer yet (timed out); given up after 0.3 s\n"
    assert capsys.readouterr().err == said


def test_an_address_that_has_never_answered_is_given_up_in_seconds(monkeypatch, capsys, hasty):
    monkeypatch.setattr(waiting, "FIRST_CONTACT", 0.05)
    with pytest.raises(StorageLost) as caught:
        patiently("gs://nowhere/corpus", silent)
    said = "gs://nowhere/corpus: no answer (timed out): is the address right?"
    assert (str(caught.value), capsys.readouterr().err) == (said, "")


@pytest.mark.parametrize(
    "answer", ["", "Server returned non-2xx status code: 503 Service Unavailable: "]
)
def test_a_place_that_has_answered_is_waited_for(answer, monkeypatch, hasty):
    """Well, or with an error of its own."""
    monkeypatch.setattr(waiting, "FIRST_CONTACT", 0.01)
    answers = iter([answer, *5 * ["HTTP error: error sending request"], ""])

    def answered() -> None:
        if said := next(answers):
            raise OSError(said)

    host = f"s3://{len(answer)}-answered"
    while not answer and host not in waiting._Known.hosts:
        patiently(f"{host}/a", answered)
    patiently(f"{host}/b", answered, 60)
    assert not list(answers)


def test_a_worker_knows_that_its_driver_had_answers(monkeypatch, hasty):
    monkeypatch.setattr(waiting, "FIRST_CONTACT", 0.01)
    monkeypatch.setattr(waiting._Known, "are_all_known", False)
    waiting.expect_answers()
    with pytest.raises(StorageLost, match="it could not be used for 0.3 s"):
        patiently("s3://new/run", silent, 0.3)


def test_a_store_that_never_speaks_is_given_up_in_seconds(monkeypatch, capsys, patience):
    """It is a listener here; a server that was stopped does the same."""
    monkeypatch.setattr(waiting._Known, "said", -waiting.BETWEEN)
    patience(6)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mute")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mute")
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        begun = time.monotonic()
        for use in (lambda: Place("s3://mute/a").kind("b"), lambda: Place("s3://mute/a").read("b")):
            with pytest.raises(StorageLost, match="no answer .*: is the address right"):
                use()
    assert time.monotonic() - begun < 2 * 6 + 4
    said = capsys.readouterr().err
    assert said.startswith("waiting for s3://mute/a/b: no answer yet (")
    assert said.endswith("; given up after 6 s\n")


@pytest.mark.parametrize("given", ["5 minutes", "", "-1"])
def test_a_patience_that_is_no_number(given, monkeypatch, refused):
    monkeypatch.setenv("EVALJUDGE_STORAGE_PATIENCE", given)
    said = f"EVALJUDGE_STORAGE_PATIENCE is '{given}': write a number of seconds"
    refused(lambda: patiently("s3://bucket/run", silent), UserError, said)
