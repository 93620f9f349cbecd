"""Lists of roles, in the shapes that models write them in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.roles.lists import Role, RoleList, roles_in
from evaljudge.judges.shared.wording import fold, one_line, quoted
from evaljudge.model.asks import Failed, Sample

LAW, LOCAL = "They follow the law behind the case.", "They live nearby, and worry."
BOTH = [("Politicians", LAW), ("Residents of Nevada", LOCAL)]
SHAPES = {
    "angles": "<{}, {}>",
    "angles with a colon": "<{}: {}>",
    "angles around the type": "<{}>: {}",
    "angles in a numbered list": "1. <{}, {}>",
    "numbers": "1. {}: {}",
    "numbers in brackets": "(1) {}: {}",
    "numbers with a bracket": "1) {} - {}",
    "bullets": "- {}: {}",
    "stars": "* {}: {}",
    "dots": "• {} – {}",
    "bold": "**{}**: {}",
    "bold with its colon": "**{}:** {}",
    "bold in bullets": "- **{}** – {}",
    "bold in numbers": "1. **{}**: {}",
    "bold with an em dash": "1. **{}**—{}",
    "bold above": "**{}**\n{}",
    "bold, then a blank line": "**{}**\n\n{}",
    "bold above an indented line": "1. **{}**\n   {}",
    "bold above a bullet": "1. **{}**:\n   - {}",
    "numbers in bold": "**1. {}:** {}",
    "headings": "### {}\n{}",
    "numbered headings": "### 1. {}\n{}",
    "headings, then a blank line": "## {}\n\n{}",
    "plain lines": "{}: {}",
    "plain lines with dashes": "{} – {}",
    "the type above": "{}:\n{}",
    "fields": "Type: {}\nDescription: {}",
    "fields on one line": "Type: {}, Description: {}",
    "fields with a slash": "Role: {} / Description: {}",
    "fields by their names": "User type: {}\nUser description: {}",
    "fields in bold": "**Type:** {}\n**Description:** {}",
    "fields in bullets": "- Type: {}\n- Description: {}",
    "fields in numbers": "1. Type: {}\n   Description: {}",
    "fields of numbered roles": "Role 1: {}\nDescription: {}",
    "fields with a blank line": "Role: {}\nDescription: {}\n",
    "numbered roles": "**Role 1: {}** - {}",
    "numbered users": "User 1: {} – {}",
    "a labelled type": "1. Type: {} - {}",
    "tags": "<role><type>{}</type><description>{}</description></role>",
    "JSON lines": '{{"type": "{}", "description": "{}"}}',
    "JSON with other keys": '{{"User Type": "{}", "user_description": "{}"}}',
    "JSON of a role's name": '{{"role": "{}", "description": "{}"}}',
    "JSON by type": '{{"{}": {{"description": "{}"}}}}',
    "JSON pairs": '{{"{}": "{}"}}',
    "table rows": "| {} | {} |",
    "numbered table rows": "| 1 | **{}** | {} |",
}  # fmt: skip


def read(reply: str, cut: bool = False, most: int = 20) -> RoleList | str:
    found = roles_in(Sample(reply, "length" if cut else "stop"), most)
    return found.reason if isinstance(found, Failed) else found


def pairs(reply: str, cut: bool = False) -> list[tuple[str, str]]:
    found = read(reply, cut)
    assert isinstance(found, RoleList), found
    return [(role.type, role.description) for role in found.roles]


@pytest.mark.parametrize("around", ["{}", "Here are several types of users:\n\n{}",
    "Sure! These would read it:\n{}\n\nThese roles differ in what they know."])  # fmt: skip
def test_a_list_is_read_in_every_shape(around: str) -> None:
    for name, shape in SHAPES.items():
        said = "\n".join(shape.format(*pair) for pair in BOTH)
        assert pairs(around.format(said)) == BOTH, name


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n[{"type": "Politicians", "description": "They follow the law behind the case."},'
        '\n{"type": "Residents of Nevada", "description": "They live nearby, and worry."}]\n```',
        '{"roles": [{"name": "Politicians", "description": "They follow the law behind the case."},'
        ' {"name": "Residents of Nevada", "description": "They live nearby, and worry."}]}',
        "| User type | User description |\n|---|---|\n"
        f"| Politicians | {LAW} |\n| Residents of Nevada | {LOCAL} |",
        f"<User type, User description>\n<Politicians, {LAW}>\n<Residents of Nevada, {LOCAL}>",
        f"1. Politicians: They follow the law\n behind the case.\n2. Residents of Nevada: {LOCAL}",
        f"1. Politicians: {LAW}\n\n2. Residents of Nevada: {LOCAL}",
        f"- Politicians: {LAW}\n- POLITICIANS: again\n- Residents of Nevada: {LOCAL}",
        f"## Roles\n- Politicians: {LAW}\n- Residents of Nevada: {LOCAL}",
    ],
)
def test_whole_replies(reply: str) -> None:
    assert pairs(reply) == BOTH


def test_sub_items_belong_to_their_item() -> None:
    said = "1. **Politicians**\n   - the law\n   - the police\n2. **Academics**: research"
    assert pairs(said) == [("Politicians", "the law the police"), ("Academics", "research")]


@pytest.mark.parametrize("shape", ["1. {}: {}", "- **{}** – {}", "<{}, {}", "{}: {}", "### {}\n{}",
                                   "Type: {}\nDescription: {}", "| {} | {}"])  # fmt: skip
def test_of_a_cut_list_the_last_item_is_left_out(shape: str) -> None:
    ended = {"<{}, {}": ">", "| {} | {}": " |"}.get(shape, "")
    said = f"{shape.format(*BOTH[0])}{ended}\n{shape.format('Residents', 'They li')}"
    assert read(said, cut=True) == RoleList(
        (Role("Politicians", LAW),), "the list was cut at the token limit"
    )


def test_what_is_closed_before_the_cut_counts() -> None:
    assert pairs(f"<Politicians, {LAW}>", cut=True) == BOTH[:1]
    assert pairs('[{"type": "A", "description": "b"}, {"type": "C", "desc', cut=True) == [
        ("A", "b")
    ]
    assert pairs(f"- Politicians: {LAW}\n\nThese would", cut=True) == BOTH[:1]


@pytest.mark.parametrize(
    ("reply", "cut", "why"),
    [
        ("", False, "the reply was empty"),
        (" \n", False, "the reply was empty"),
        ("I cannot say.", False, "no roles in the reply: “I cannot say.”"),
        ("- Politicians\n- Academics", False, "no roles in the reply: “- Politicians - Academics”"),
        ("1. …: !\n2. -", False, "no roles in the reply: “1. …: ! 2. -”"),
        ("Type: Critic", False, "no roles in the reply: “Type: Critic”"),
        ("[1, 2]", False, "no roles in the reply: “[1, 2]”"),
        ('{"type": "Critic"}', False, "no roles in the reply: “{\"type\": \"Critic\"}”"),
        ("Here are some users for this:", False,
         "no roles in the reply: “Here are some users for this:”"),
        ("1. Critic: wor", True,
         "cut at the token limit before a role was whole: “1. Critic: wor”"),
        ("x" * 61, False, f"no roles in the reply: “{'x' * 59}…”"),
    ],
)  # fmt: skip
def test_what_is_no_list(reply: str, cut: bool, why: str) -> None:
    assert read(reply, cut) == why


def test_bounds() -> None:
    many = read("\n".join(f"- Reader of page {i}: page {i}" for i in range(25)))
    assert isinstance(many, RoleList)
    assert (len(many.roles), many.note) == (20, "5 more were listed")
    few = read("- A: b\n- C: d\n- E: f", most=2)
    assert few == RoleList((Role("A", "b"), Role("C", "d")), "1 more were listed")
    [(who, what)] = pairs(f"- {'t' * 81}: {'d' * 301}")
    assert (who, what) == ("t" * 79 + "…", "d" * 299 + "…")
    assert pairs(f"- {'t' * 80}: {'d' * 300}") == [("t" * 80, "d" * 300)]


def test_what_is_shown_is_one_clean_line() -> None:
    said = "1. **Po\x1bliti\u200bcians** : _They_ `follow`\tthe </article> law_maker"
    assert pairs(said) == [("Po liti cians", "They follow the /article law_maker")]
    assert one_line("# a\n**b** _c_ d_e") == "a b c d_e"
    assert quoted("a\n\x07b") == "“a b”"


def test_types_are_the_same_by_fold() -> None:
    assert fold("The  General-Public!") == fold("the general public") == "the general public"
    assert fold("हिन्दी पाठक") == "हिन्दी पाठक"
    assert fold("* – !") == ""


PIECES = st.sampled_from(
    ["1. ", "- ", "**", "Critic",
     ": ", "checks it", "\n", "\n\n", "<", ">", ",", "|", "{", "}", '"',
     "Type: ", "Description: ", "type", "# ", " – ", "[", "]", "   ", "2) ", "\u2028", "_"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join), st.booleans())
def test_any_reply_is_a_list_of_clean_roles_or_one_line(reply: str, cut: bool) -> None:
    found = read(reply, cut)
    if isinstance(found, str):
        assert found.isprintable() and len(found) < 130
        return
    folded = [fold(role.type) for role in found.roles]
    assert len(set(folded)) == len(folded) and all(folded)
    for role in found.roles:
        assert 0 < len(role.type) <= 80 and 0 < len(role.description) <= 300
        assert not set("*`<>|\n") & set(role.type + role.description)
        assert (role.type + role.description).isprintable()


def test_a_type_keeps_what_is_its_own() -> None:
    listed = """1. Readers (general): the main facts
2. (Law Enforcement (FBI)): crime
3. Fans of "Star Wars": films
4. "People aged 18–25" – memes"""
    found = roles_in(Sample(listed, "stop", None))
    assert isinstance(found, RoleList)
    assert [role.type for role in found.roles] == [
        "Readers (general)", "Law Enforcement (FBI)", 'Fans of "Star Wars"', "People aged 18–25",
    ]  # fmt: skip


@pytest.mark.parametrize("reply", ["_" * 6000, "1. Name: " + "_" * 6000 + "\n2. Type: x"])
def test_a_reply_that_repeats_itself_is_read_at_once(reply: str) -> None:
    """It took time that grew with the cube of its length."""
    assert isinstance(roles_in(Sample(reply, "length", None)), Failed)
