"""Models behind a URL: what a server that misbehaves does to a run, and what is refused."""

import asyncio
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from math import log
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from evaljudge import load_config, run
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.endpoint import client
from evaljudge.engines.endpoint.bounds import Known, TopTokens, read_shown
from evaljudge.engines.endpoint.client import Pace, _Trouble
from evaljudge.engines.endpoint.settings import USUAL_KEY, Endpoint
from evaljudge.engines.endpoint.texts import neutralised
from evaljudge.engines.source import Thinking
from evaljudge.errors import GivenUp, UserError
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing, Written
from evaljudge.runs.pipeline import make_report
from tests.build import config, document, jsonl, refusal, stored
from tests.engines.openai_server import MODEL, Ask, Reply, Server, changed, shown, well

pytestmark = pytest.mark.service
OPTIONS = Options(("Better", "Worse", "Similar"))
PROMPTS = [Prompt(("Compare.\n", f"Text {n}."), 1) for n in range(12)]
SECRET = "sk-not-to-be-seen"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(client, "LONGEST_PAUSE", 0.02)
    monkeypatch.delenv(USUAL_KEY, raising=False)


@pytest.fixture
def server():
    with Server() as one:
        yield one


def opened(server: Server, **settings: Any) -> Any:
    endpoint = Endpoint(url=server.url, **{"wait": 5, "timeout": 5} | settings)
    return VllmEngines().open(ModelSource(MODEL, endpoint=endpoint), seed=0)


def chosen(model: Any, prompts: list[Prompt] = PROMPTS) -> list[Chosen | Failed]:
    try:
        return asyncio.run(model.choose(prompts, OPTIONS))
    finally:
        model.close()


def scored(folder: Path, server: Server, **settings: Any) -> list[dict[str, Any]]:
    jsonl(folder / "cases.jsonl", [document(n) for n in range(6)])
    endpoint = {"url": server.url, "wait": 5, "timeout": 5} | settings
    run(config(folder, model={"endpoint": endpoint}, judges={"synthetic": {"levels": 3}}))
    return stored(folder / "out/scores")


def every(n: int, bad: Callable[[Ask], Reply]) -> Callable[[Ask], Reply]:
    """A server that answers well but for each n-th request after the probe."""
    count = Counter[str]()

    def answer(ask: Ask) -> Reply:
        count["all"] += 1
        return bad(ask) if count["all"] > 4 and count["all"] % n == 0 else well(ask)

    return answer


PASSING: dict[str, Callable[[Ask], Reply]] = {
    "429 with a time": lambda ask: Reply({}, 429, {"Retry-After": "0.05"}),
    "500": lambda ask: Reply("ouch", 500),
    "a cut reply": lambda ask: replace(well(ask), cut=True),
    "no JSON": lambda ask: Reply(b"<html>it works</html>"),
    "a slow drip": lambda ask: replace(well(ask), drip=0.2),
}


def test_what_passes_is_asked_again_and_nothing_is_lost_or_doubled(tmp_path, server):
    (tmp_path / "well").mkdir()
    wanted = scored(tmp_path / "well", server)
    assert {row["status"] for row in wanted} == {"ok"}
    names, met = cycle(PASSING), Counter[str]()

    def bad(ask: Ask) -> Reply:
        met[name := next(names)] += 1
        return PASSING[name](ask)

    server.answers = every(7, bad)
    assert scored(tmp_path, server, timeout=0.5) == wanted
    assert met.keys() == PASSING.keys()


def nan(ask: Ask) -> Reply:
    tops = [{"token": "Better", "logprob": float("nan")}]
    row = {"token": "Better", "logprob": 0, "top_logprobs": tops}
    return changed(well(ask), logprobs={"content": [row]})


def fewer(ask: Ask) -> Reply:
    (row,) = shown(ask)
    return changed(well(ask), logprobs={"content": [row | {"top_logprobs": [row]}]})


def filtered(ask: Ask) -> Reply:
    return changed(well(ask), message={}, finish_reason="content_filter", logprobs=None)


FAILING = {
    "NaN": (nan, "probabilities of the answers are not numbers"),
    "fewer than asked": (fewer, "known only to within 0"),
    "none": (lambda ask: changed(well(ask), logprobs=None), "the reply shows no log-probabilities"),
    "filtered": (filtered, "the server gave the reply up: content_filter"),
    "no choices": (lambda ask: Reply({"choices": []}), "the reply is not as the API has it"),
    "other types": (lambda ask: Reply({"choices": 7}), "the reply is not as the API has it"),
    "10 MB": (lambda ask: Reply(b" " * 10_000_000), "a reply of more than 8 MiB was refused"),
    "400": (lambda ask: Reply({"error": "content_filter"}, 400), "the server refused the request"),
    "always 500": (lambda ask: Reply("ouch", 500), 'gave no answer in 5 tries: HTTP 500 "ouch"'),
}


@pytest.mark.parametrize(("bad", "reason"), FAILING.values(), ids=FAILING.keys())
def test_what_one_request_is_refused_is_its_own_reason(server, bad, reason):
    model = opened(server)
    server.answers = lambda ask: bad(ask) if "Text 3." in ask.text else well(ask)
    replies = chosen(model)
    failed = {n: reply.reason for n, reply in enumerate(replies) if isinstance(reply, Failed)}
    assert list(failed) == [3] and reason in failed[3]


ENDING = {
    "another model": (
        lambda ask: Reply(well(ask).body | {"model": "judge-2"}),
        "the model is 'judge-2' now, and was 'judge-1'",
    ),
    "a redirect": (
        lambda ask: Reply({}, 307, {"Location": "http://127.0.0.2:9/v1/chat/completions"}),
        "it sends on to http://127.0.0.2:9/v1/chat/completions: name that URL",
    ),
    "a key refused": (lambda ask: Reply({"error": SECRET}, 401), "the key is refused: HTTP 401"),
    "gone": (lambda ask: Reply({}, 502), "no answer for 0.3 s (model.endpoint.wait): HTTP 502"),
    "a long way off": (
        lambda ask: Reply({}, 429, {"Retry-After": "3600"}),
        "no answer for 0.3 s (model.endpoint.wait): HTTP 429",
    ),
}


@pytest.mark.parametrize(("bad", "line"), ENDING.values(), ids=ENDING.keys())
def test_what_concerns_the_run_ends_it_in_one_line(server, monkeypatch, bad, line):
    monkeypatch.setenv("OUR_KEY", SECRET)
    model = opened(server, wait=0.3, key="OUR_KEY")
    server.answers = bad
    with pytest.raises((GivenUp, UserError)) as ended:
        chosen(model)
    said = str(ended.value)
    assert line in said and "\n" not in said and SECRET not in said
    keys = {ask.headers.get("authorization") for ask in server.asks}
    assert keys == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("said", [{"Retry-After": "0.4"}, {"retry-after-ms": "400"}], ids=str)
def test_a_busy_server_is_left_alone_for_as_long_as_it_says(server, said):
    model, times = opened(server), list[float]()

    def busy_once(ask: Ask) -> Reply:
        times.append(monotonic())
        return Reply({}, 429, said) if len(times) == 1 else well(ask)

    server.answers = busy_once
    assert isinstance(chosen(model, PROMPTS[:1])[0], Chosen)
    assert times[1] - times[0] >= 0.4


def test_a_redirect_is_not_followed(monkeypatch, server):
    monkeypatch.setenv("OUR_KEY", SECRET)
    with Server() as other:
        model = opened(server, key="OUR_KEY")
        server.answers = lambda ask: Reply({}, 302, {"Location": f"{other.url}/chat/completions"})
        assert "it sends on to" in refusal(chosen, model)
        assert not other.asks


def test_a_server_that_is_gone_for_a_while_is_waited_for(server):
    model = opened(server, wait=20)
    wanted = chosen(model)
    with Server() as first:
        model, port = opened(first, wait=20), first.port

    async def ask() -> list[Chosen | Failed]:
        asking = asyncio.create_task(model.choose(PROMPTS, OPTIONS))
        await asyncio.sleep(0.5)
        with Server(port=port):
            return await asking

    assert asyncio.run(ask()) == wanted
    model.close()


def test_a_run_that_ended_is_resumed_and_ends_alike(tmp_path, server):
    (tmp_path / "whole").mkdir()
    wanted, count = scored(tmp_path / "whole", server), Counter[str]()

    def dies(ask: Ask) -> Reply:
        count["all"] += 1
        return Reply({}, 503) if count["all"] > 60 else well(ask)

    server.answers = dies
    with pytest.raises(GivenUp, match=r"no answer for 0\.2 s"):
        scored(tmp_path, server, wait=0.2)
    server.answers = well
    assert scored(tmp_path, server, wait=0.2) == wanted


def test_concurrency_follows_the_server():
    pace = Pace(512)
    for _ in range(32):
        pace.note(None)
    assert pace.limit == 64  # twice as many
    pace.note(_Trouble("", is_busy=True))
    pace.note(_Trouble("", is_busy=True))  # of the same burst
    assert pace.limit == 32
    for _ in range(32):
        pace.note(None)
    assert 32.9 < pace.limit < 33  # one more


@pytest.mark.parametrize(
    "executor", ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])]
)
def test_all_workers_together_ask_no_more_at_once_than_was_said(tmp_path, server, executor):
    jsonl(tmp_path / "cases.jsonl", [document(n) for n in range(24)])
    server.answers = lambda ask: (
        Reply("ouch", 500) if "13" in ask.text else replace(well(ask), drip=0.0005)
    )
    model = {"endpoint": {"url": server.url, "at_once": 6}}
    workers = {"executor": executor, "min": 2, "max": 2} if executor == "ray" else {}
    run(config(tmp_path, model=model, judges={"direct": {"steps": False}}, workers=workers))
    assert len(server.asks) > 24
    assert 4 <= server.most_at_once <= 6  # of one worker of two: 3


def test_samples_stand_in_where_no_log_probabilities_are_shown(server):
    """As of a server that gives one answer, whatever `n` is."""

    def says(ask: Ask) -> Reply:
        reply = well(Ask(ask.path, ask.headers, ask.body | {"logprobs": None, "n": 1}))
        return changed(reply, message={"content": " Worse."}) if "choices" in reply.body else reply

    server.answers = says
    (reply,) = chosen(opened(server, samples=40), PROMPTS[:1])
    assert isinstance(reply, Chosen) and reply.p["Worse"] == pytest.approx(40.5 / 41.5)
    assert 0.02 < reply.within < 0.03 and len(reply.spent) == 40
    assert reply.evidence["within"] > 0

    def wavers(ask: Ask) -> Reply:
        is_other = "messages" in ask.body and len(server.asks) % 2
        return changed(says(ask), message={"content": "Better"}) if is_other else says(ask)

    server.answers = wavers
    (reply,) = chosen(opened(server, samples=4), PROMPTS[:1])
    assert isinstance(reply, Failed) and "and `widest` is 0.1" in reply.reason


def top(generated: str, **shown: float) -> TopTokens:
    return TopTokens(generated, [(token, log(p)) for token, p in shown.items()])


def test_what_is_known_is_told_from_what_may_be():
    """`W` may become `Worse`, or anything; what is not shown holds at most .1 in all."""
    known = read_shown(OPTIONS, [top("Better", Better=0.6, W=0.2, The=0.1)], top=3)
    assert isinstance(known, Known) and not known.goes_on
    assert known.held == {"Better": pytest.approx(0.6), "Worse": 0, "Similar": 0}
    assert known.left_out == pytest.approx(0.2 + 0.1)
    assert known.within == pytest.approx(0.3 / 0.9)


def test_the_reply_that_was_generated_is_followed():
    rows = [top("W", W=0.7, Better=0.29999, The=1e-5), top("orse", orse=0.9, ell=0.1)]
    first = read_shown(OPTIONS, rows[:1], top=3)
    known = read_shown(OPTIONS, rows, top=2)
    assert isinstance(first, Known) and isinstance(known, Known)
    assert first.goes_on and first.left_out == pytest.approx(0.7)
    assert known.held["Worse"] == pytest.approx(0.63) and known.within < 1e-6


def test_the_way_is_in_the_signature(tmp_path, server):
    signature = scored(tmp_path, server)[0]["signature"]
    assert (
        f"judge-1 (judge-1) at {server.url} | bounds by the top 5 tokens (widest 0.1) |"
        in signature
    )
    assert "vllm" not in signature
    asked, endpoint = len(server.asks), {"url": server.url, "wait": 5, "timeout": 5}
    judges = {"synthetic": {"levels": 3}}
    make_report(config(tmp_path, model={"endpoint": endpoint}, judges=judges), progress=False)
    assert len(server.asks) == asked  # a report needs no server


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ({"endpoint": "example.org/v1"}, "url: write it as https://HOST/v1"),
        ({"endpoint": "https://me:pw@example.org/v1"}, "holds credentials"),
        ({"endpoint": "https://example.org/v1?api_key=abc"}, "holds credentials"),
        ({"endpoint": {"url": "http://example.org/v1", "key": "OUR_KEY"}}, "over plain http"),
        ({"endpoint": {"url": "https://example.org/v1", "key": SECRET}}, "not the key"),
        ("http://a.b/v1", "a server is written as `model: {endpoint: http://a.b/v1}`"),
        ({"endpoint": "https://a.b/v1", "source": "m"}, "has `endpoint` and `source`"),
        ({"endpoint": "https://a.b/v1", "engine": {"x": 1}}, "has `endpoint` and `engine`"),
        ({"endpoint": "https://a.b/v1", "revision": "m"}, "has `endpoint` and `revision`"),
        ({"endpoint": "https://a.b/v1", "adapter": "m"}, "has `endpoint` and `adapter`"),
    ],
)
def test_what_is_refused_before_anything_is_asked(model, line):
    words = refusal(load_config, {"corpus": "c", "out": "o", "model": model})
    assert line in words and SECRET not in words
    assert "abc" not in words


def thinking(ask: Ask) -> Reply:
    return changed(well(ask), message={"content": "", "reasoning": "Hm"}) if ask.body else well(ask)


CHARACTERS = {"<|user|>": 1, "<|assistant|>": 2, "</s>": 3, "</think>": 4, "<|end|>": 5}
"""Of a tokenizer in which all others are letters."""
THOUGHTS = {"good": {"Better": 0.8, "Worse": 0.1, "Similar": 0.1},
            "bad": {"Better": 0.2, "Worse": 0.7, "Similar": 0.1}}  # fmt: skip


def as_letters(text: str) -> list[int]:
    pieces = re.split("(" + "|".join(map(re.escape, CHARACTERS)) + ")", text)
    return [i for p in pieces for i in ([CHARACTERS[p]] if p in CHARACTERS else map(ord, p))]


def as_words(ids: list[int]) -> str:
    names = {i: name for name, i in CHARACTERS.items()}
    return "".join(names.get(i) or chr(i) for i in ids)


def by_ids(ask: Ask) -> Reply:
    """A server of token ids, of whose two thoughts one is ended and one is cut, by another end of
    a turn than its template shows."""
    body, route = ask.body, ask.path.rpartition("/")[2]
    if route == "models":
        return Reply({"data": [{"id": MODEL}]})
    if route == "tokenize":
        return Reply({"tokens": as_letters(body["prompt"])})
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    reply: dict[str, Any] = {"model": MODEL, "usage": usage}
    if "messages" in body:
        user, *answers = (turn["content"] for turn in body["messages"])
        tail = "<think>\n" if not answers else f"{answers[0]}</s>"
        text = f"<|user|>\n{user}</s><|assistant|>\n{tail}"
        reply |= {"prompt_text": text, "prompt_token_ids": as_letters(text)}
        return Reply(reply | {"choices": [{"message": {}, "finish_reason": "length"}]})
    if body.get("return_token_ids"):
        choices = [
            {"text": t, "token_ids": as_letters(t + end), "finish_reason": "stop",
             "stop_reason": as_letters(end)[-1]}
            for t, end in (("good", "</think>"), ("bad", "<|end|>"))
        ]  # fmt: skip
        return Reply(reply | {"choices": choices})
    before, _, tail = as_words(body["prompt"]).rpartition("</think>\n\n")
    p = THOUGHTS["bad" if before.endswith("<think>\nbad\n") else "good"]
    held = sum(v for name, v in p.items() if name.startswith(tail)) or 1

    def share(letter: int) -> float:
        found = sum(v for name, v in p.items() if name.startswith(tail + chr(letter)))
        return log(max(found / held, 1e-12))

    row = {f"token_id:{i}": share(i) for i in body["logprob_token_ids"]}
    shown = {"tokens": ["token_id:0"], "top_logprobs": [row]}
    told = [{f"{i}": {"logprob": -1.0, "decoded_token": "x"}} for i in body["prompt"]]
    choice = {"text": "x", "finish_reason": "length", "logprobs": shown, "prompt_logprobs": told}
    return Reply(reply | {"choices": [choice]})


def thoughtful(server: Server) -> ModelSource:
    how = Thinking(tokens=5, samples=2)
    return ModelSource(MODEL, endpoint=Endpoint(url=server.url, wait=5), thinking=how)


def test_a_server_of_token_ids_thinks_before_it_is_read(server):
    server.answers = by_ids
    source = thoughtful(server)
    assert VllmEngines().describe(source).identity.way.startswith("exact")
    (reply,) = chosen(VllmEngines().open(source, seed=0), [Prompt(("Compare.",))])
    assert reply.p == pytest.approx({"Better": 0.5, "Worse": 0.4, "Similar": 0.1}, abs=1e-3)
    assert reply.within == pytest.approx(0.3, abs=1e-3)
    assert [(t.text, t.finish) for t in reply.thoughts] == [("good", "stop"), ("bad", "length")]
    asked = [ask.body for ask in server.asks if ask.body.get("return_token_ids")][-1]
    assert (asked["top_p"], asked["presence_penalty"]) == (1.0, 0.0)
    assert (asked["n"], asked["max_tokens"], asked["stop_token_ids"]) == (2, 5, [3, 4])
    assert as_words(asked["prompt"]) == "<|user|>\nCompare.</s><|assistant|>\n<think>\n"
    read = {as_words(a.body["prompt"]) for a in server.asks if "logprob_token_ids" in a.body}
    ends = ("<think>\ngood</think>\n\n", "<think>\nbad\n</think>\n\n")
    assert all(any(text.endswith(end) for text in read) for end in ends)


def test_a_server_without_token_ids_is_refused_a_thought(server):
    with pytest.raises(UserError, match="`thinking` reads probabilities after token ids"):
        VllmEngines().describe(thoughtful(server))
    assert not any("logprobs" in ask.body for ask in server.asks), "nothing was asked"


def no_such_model(ask: Ask) -> Reply:
    is_chat = ask.path.endswith("/chat/completions")
    return Reply({"error": "model not found"}, 404) if is_chat else well(ask)


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        (no_such_model, '"model not found"}; `url` ends where chat/completions begins'),
        (lambda ask: Reply({}, 401), "HTTP 401 {}; `key` names the variable that holds the key"),
        (thinking, "it thinks before it answers: switch that off"),
    ],
)
def test_a_likely_mistake_is_told_in_a_line(server, answers, line):
    server.answers = answers
    assert line in refusal(opened, server)


def test_low_mass_is_told_in_an_endpoints_own_words(tmp_path, server):
    line = [{"token": "Hm", "logprob": 0.0, "top_logprobs": [{"token": "Hm", "logprob": -0.01}]}]

    def hums(ask: Ask) -> Reply:
        return changed(well(ask), logprobs={"content": line}) if ask.body else well(ask)

    server.answers = hums
    with pytest.raises(UserError, match=r"\{endpoint: …, name: .*, chat: none, reply: "):
        scored(tmp_path, server, widest=1)


def test_a_model_with_a_temperature_of_its_own_is_sent_none(server):
    def fixed(ask: Ask) -> Reply:
        return well(ask) if ask.body.get("temperature", 1) == 1 else Reply({"error": "no"}, 400)

    server.answers = fixed
    model = opened(server)
    (reply,) = asyncio.run(model.write(PROMPTS[:1], Writing(8, temperature=0.0)))
    model.close()
    assert isinstance(reply, Written)
    assert "temperature" not in server.asks[-1].body


def test_a_judge_that_weighs_is_refused_where_nothing_is_weighed(tmp_path, server):
    jsonl(tmp_path / "cases.jsonl", [document(0)])
    asked = config(tmp_path, model={"endpoint": server.url}, judges={"likelihood": {}})
    assert "judges.likelihood reads the log-probabilities" in refusal(run, asked)


def test_the_usual_key_goes_to_no_other_host_unencrypted(monkeypatch):
    monkeypatch.setenv(USUAL_KEY, SECRET)
    with pytest.raises(UserError, match=f"{USUAL_KEY} is set, and a key is not sent over plain"):
        Endpoint(url="http://example.org/v1").secret()
    assert Endpoint(url="http://[::1]:80/v1").secret() == SECRET


def test_routes_keep_what_the_url_says():
    azure = Endpoint(url="https://x.y/openai/deployments/d/chat/completions?api-version=1")
    assert azure.at("models") == "https://x.y/openai/deployments/d/models?api-version=1"
    assert Endpoint(url="http://localhost:1/v1/").at("/tokenize") == "http://localhost:1/tokenize"


def test_what_a_server_may_read_as_special_is_neutralised():
    text = "<|im_end|> <s> </s> [INST] <article> <｜User｜> a < b [1] <pad>"
    there = "< |im_end| > < s> < /s> [ INST] <article> < ｜User｜ > a < b [1] < pad>"
    assert neutralised(text) == there


def test_written_replies_come_in_number_and_form(server):
    model = opened(server)
    how = Writing(8, n=3, temperature=1.0, schema='{"type": "object"}')
    (reply,) = asyncio.run(model.write(PROMPTS[:1], how))
    model.close()
    assert isinstance(reply, Written) and len(reply.samples) == 3
    form = server.asks[-1].body["response_format"]["json_schema"]
    assert form["schema"] == {"type": "object"}


WITHOUT = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"vllm", "torch", "transformers"}:
            raise ImportError(f"{name} is not installed")
sys.meta_path.insert(0, Hidden())
from evaljudge.cli import main
main(["run", sys.argv[1]])
"""


def test_neither_vllm_nor_torch_is_needed(tmp_path, server):
    jsonl(tmp_path / "cases.jsonl", [document(n) for n in range(3)])
    (tmp_path / "c.yaml").write_text(
        f"corpus: {tmp_path}/cases.jsonl\nout: {tmp_path}/out\nmodel: {{endpoint: {server.url}}}\n"
        "judges: {synthetic: {levels: 3}}\nworkers: {executor: local}\naxes: [fluency]\n"
    )
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "c.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert {row["status"] for row in stored(tmp_path / "out/scores")} == {"ok"}
