"""The interface in two languages: complete catalogues, nothing translated at import, to everybody their own."""

import ast
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from engine.serve.client import EngineRefused
from lessons import catalogue as course
from lessons.filters import FILTERS, write
from lessons.structure import Lesson
from views import engine_faults, engine_words
from views.flipbook_words import PLURALS, labels
from views.handout import handout
from views.locale import catalogue
from views.words import DEFAULT, LANGUAGES, LOCALE, N_, Words, _, language, ngettext, speaking

OTHERS = [code for code in LANGUAGES if code != DEFAULT]


@pytest.mark.parametrize("code", OTHERS)
def test_every_word_of_the_interface_is_translated(code):
    faults = list(catalogue.faults(code))
    assert not faults, "python -m views.locale update, then translate:\n" + "\n".join(faults)


def test_no_word_is_translated_while_a_module_is_imported():
    """Whoever imports it first would choose the language for everybody."""
    early = []
    for folder in catalogue.FOLDERS:
        for path in sorted((catalogue.ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            early += [f"{path.relative_to(catalogue.ROOT)}:{line}" for line in at_import(tree)]
    # A page's script runs for each visitor anew.
    assert [place for place in early if not place.startswith("pages/")] == []


def at_import(node: ast.AST):
    """Lines of calls of `_` and its like that run when the module does: not a function's body, but its head."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            heads = [*child.args.defaults, *filter(None, child.args.kw_defaults), *getattr(child, "decorator_list", [])]
            for head in heads:
                yield from at_import(ast.Expression(head))
            continue
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in ("_", "ngettext"):
            yield child.lineno
        yield from at_import(child)


def test_the_test_above_finds_what_it_looks_for():
    source = "A = _('a')\ndef f(b=_('b')):\n    return _('c')\nclass C:\n    d = [ngettext('d', 'e', 1)]\n"
    assert list(at_import(ast.parse(source))) == [1, 2, 5]


def test_messages_are_found_in_f_strings_and_over_several_lines():
    source = "f\"{_('a {n}')}\"\nN_('b '\n   'c')\nngettext('{n} d', '{n} e', 3)\n_(name)\n"
    assert dict(catalogue.messages_in(source)) == {"a {n}": 1, "b c": 2, ("{n} d", "{n} e"): 4}


def test_a_message_that_becomes_a_plural_keeps_its_word_and_lacks_the_other_form(tmp_path, monkeypatch):
    """`update` ended with an error, and the catalogue was gone with it."""
    monkeypatch.setattr(catalogue, "LOCALE", tmp_path)
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    shutil.copytree(LOCALE / "es", tmp_path / "es")
    path = tmp_path / "es" / "LC_MESSAGES" / "twospeeds.po"
    singular, known = next((one.id, one.string) for one in catalogue.read("es") if isinstance(one.id, str) and one.id)
    monkeypatch.setattr(catalogue, "used", lambda: {(singular, f"{singular}s"): [("views/lab.py", 1)]})
    catalogue.update("es")
    assert catalogue.read("es").get(singular).string == (known, "") and path.exists()
    assert [fault for fault in catalogue.faults("es") if "not in es" in fault]
    monkeypatch.setattr(catalogue, "used", lambda: {singular: [("views/lab.py", 1)]})
    catalogue.update("es")
    assert catalogue.read("es").get(singular).string == known and not list(catalogue.faults("es"))


def test_two_people_at_once_read_two_languages():
    both = Barrier(2, timeout=10)
    table = Words({"kept": N_("What is kept")})

    def read(code: str) -> list[tuple[str, ...]]:
        with speaking(code):
            said = []
            for n in (1, 2, 1, 2):
                both.wait()
                said.append((language(), _("measured here"), table["kept"], ngettext("{n} layer", "{n} layers", n)))
        return said

    with ThreadPoolExecutor(2) as people:
        english, spanish = people.map(read, ("en", "es"))
    assert english == [("en", "measured here", "What is kept", f"{{n}} layer{'s' * (n - 1)}") for n in (1, 2, 1, 2)]
    assert spanish == [("es", "medido aquí", "Lo que se guarda", f"{{n}} capa{'s' * (n - 1)}") for n in (1, 2, 1, 2)]
    assert language() == DEFAULT  # whoever is nobody's thread, as this one


def test_the_flipbook_gets_its_words_plural_forms_and_number_rules_in_the_language():
    spanish, english = labels("es"), labels("en")
    assert set(english) <= set(spanish)
    assert spanish["tokens"] == {"one": "{n} token", "other": "{n} tokens"}
    assert spanish["layers"] == {"one": "{n} capa", "other": "{n} capas"}
    assert (english["lang"], spanish["lang"]) == ("en", "es-MX")
    assert all(set(word) == set(PLURALS) for word in spanish.values() if isinstance(word, dict))


def test_units_of_the_lessons_follow_the_person():
    with speaking("es"):
        assert FILTERS["large"].write(26.9e9, ()) == "26.9 mil millones"
        assert FILTERS["rate"].write(1430.0, ()) == "1,430 tokens por segundo"
        assert write(None, ()) == "(no se sabe)"
    assert FILTERS["large"].write(26.9e9, ()) == "26.9 billion"


def test_what_the_engine_refuses_is_said_in_the_language_with_its_own_words_where_only_it_knows_more():
    full = EngineRefused("queue_full", "64 requests are waiting already. Try again in a little while.", 429)
    long = EngineRefused("prompt_too_long", "2,100 tokens are more than 2,048.", 400)
    odd = EngineRefused("a_new_code", "Something new.", 500)
    assert engine_faults.in_words(full) == full.message
    with speaking("es"):
        assert (
            engine_faults.in_words(full)
            == "Ya hay demasiadas peticiones en espera. Inténtalo de nuevo dentro de un rato."
        )
        assert engine_faults.in_words(long).endswith(": 2,100 tokens are more than 2,048.")
        assert engine_faults.in_words(odd) == "Something new."
        assert labels("es")["fault_unknown_run"].startswith("Aquí no hay esa ejecución.")


def test_sentences_of_the_engine_keep_what_was_put_into_them():
    with speaking("es"):
        assert engine_words.told("12 before it") == "12 antes"
        doubled = "2 times: measured: what the libraries reached; the exchange between them is not counted"
        assert engine_words.told(doubled) == (
            "2 veces: medido: lo que alcanzaron las bibliotecas; el intercambio entre ellas no se cuenta"
        )
        assert engine_words.told("Nobody wrote this.") == "Nobody wrote this."


def test_every_such_sentence_is_one_that_the_engine_writes():
    texts = []
    for path in (
        *(catalogue.ROOT / "engine" / "loop").glob("*.py"),
        *(catalogue.ROOT / "engine" / "account").glob("*.py"),
    ):
        constants = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_text(node)]
        texts += [written(node) for node in constants]
    for template in engine_words.TEMPLATES:
        parts = [part.strip() for part in re.split(r"\{\w+\}", template) if part.strip()]
        assert any(all(part in text for part in parts) for text in texts), template


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def written(node: ast.AST) -> str:
    """A text as the code has it, with a gap where an f-string puts something in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return node.value


@pytest.mark.parametrize("code", OTHERS)
def test_a_lesson_has_the_same_parts_answers_and_address_in_every_language(code):
    english = {path.name: path for path in course.lesson_files()}
    for lesson, original in zip(course.lessons(code), course.lessons(), strict=True):
        assert skeleton(lesson) == skeleton(original), lesson.path
        assert (lesson.slug, lesson.number) == (original.slug, original.number)
    assert {path.name for path in course.lesson_files(code)} <= set(english)


WORDS = {"title", "label", "unit", "along", "right", "wrong", "outcome"}
"""Settings that hold words for people; the others hold names and expressions."""


def skeleton(lesson: Lesson) -> list:
    """What must not depend on the language: directives, ids, answers, options' keys, and where a run comes from."""
    front = {name: getattr(lesson.front, name) for name in ("minutes", "model", "prompt", "new_tokens", "recording",
             "needs", "temperature", "seed", "ignore_eos", "serving", "other", "other_recording")}  # fmt: skip
    presets = [preset.split("|")[1:] for preset in lesson.front.presets]
    blocks = [
        (block.name, block.argument, [(one.key, kept(one.key, one.value)) for one in block.settings])
        for block in lesson.blocks
    ]
    return [front, presets, blocks]


def kept(key: str, value: str) -> str:
    return "" if key in WORDS else value.partition("|")[0].strip() if key == "option" else value


def test_a_handout_is_in_the_language_of_its_lesson():
    paper = handout(course.lessons("es")[0])
    assert "<html lang='es'>" in paper and "Lección 1" in paper and "Lesson 1" not in paper
    assert "<html lang='en'>" in handout(course.lessons()[0])
