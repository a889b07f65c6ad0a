"""Find what is wrong with a lesson before a learner does: faults by file and line.

Reading the file already tells unclosed fences and broken settings (`parse`). Here the rest: unknown directives,
settings and names, ids used twice, answers and recordings that are missing, code that is not there, numbers typed into
prose, and whether every expression can be computed for the lesson's own recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine.account.record import Run
from engine.account.record_file import RecordError
from lessons import catalogue, named_shapes
from lessons.code_source import SourceError, excerpt
from lessons.curves import Curve, Points
from lessons.directives import DIRECTIVES
from lessons.expressions import Expression, ExpressionError, Placeholder, Value, placeholders
from lessons.filters import check_filters, write
from lessons.glossary import glossary, marked
from lessons.instruments import INSTRUMENTS, published_kinds
from lessons.parse import read_lesson
from lessons.questions import Question, Source
from lessons.run_values import OTHER_KINDS, kind_of, other_values_of, values_of
from lessons.serving import OptionError, read_preset, read_serving
from lessons.structure import Block, Fault, Lesson
from lessons.typed_numbers import typed_numbers

QUESTIONS = ("predict", "check")
_READ = ("title", "right", "wrong", "label", "outcome", "option", "along")
"""Settings that a learner reads: numbers in them are computed, too."""


def check_files(paths: Iterable[Path]) -> list[Fault]:
    """The faults of all lesson files, in order of file and line; a file that cannot be read is a fault, too."""
    faults: list[Fault] = []
    for path in paths:
        try:
            faults += check_lesson(read_lesson(path))
        except (OSError, UnicodeDecodeError) as error:
            faults.append(Fault(path, 1, f"cannot be read: {error}"))
    return sorted(faults)


def check_lesson(lesson: Lesson) -> list[Fault]:
    """Every fault of one lesson."""
    run, faults = _recording(lesson, lesson.front.recording)
    other, more_faults = _recording(lesson, lesson.front.other_recording)
    faults += [*more_faults, *lesson.faults, *_front(lesson), *_duplicate_ids(lesson), *_terms(lesson)]
    own_names, values = _own_names(lesson), _values(lesson, run, other)
    for block in lesson.blocks:
        faults += _check_block(block, lesson)
        faults += _check_expressions(block, lesson.path, own_names, values)
        faults += _typed(block, lesson.path)
    return sorted(set(faults))


def _recording(lesson: Lesson, name: str) -> tuple[Run | None, list[Fault]]:
    """One of the lesson's recordings, and what is wrong with it."""
    if not name:
        return None, []
    try:
        run = catalogue.recording(name)
    except FileNotFoundError:
        return None, [Fault(lesson.path, 1, f"there is no recording {name!r} in lessons/recordings")]
    except (OSError, RecordError) as error:
        return None, [Fault(lesson.path, 1, f"recording {name!r}: {error}")]
    header = run.header
    asked = (header.prompt, header.sampling.max_new_tokens)
    if asked != (lesson.front.prompt, lesson.front.new_tokens):
        return run, [Fault(lesson.path, 1, f"recording {name!r} was made with another prompt or number of new tokens")]
    return run, []


def _front(lesson: Lesson) -> Iterator[Fault]:
    """What the front matter must have for a live run, and its lines that are read further."""
    front = lesson.front
    if lesson.named("run"):
        for name in ("prompt", "recording"):
            if not getattr(front, name):
                yield Fault(lesson.path, 1, f"front matter: a lesson with a :::run needs {name}:")
    if bool(front.other) != bool(front.other_recording):
        yield Fault(lesson.path, 1, "front matter: other: and other_recording: belong together")
    try:
        for serving in (front.serving, front.other):
            read_serving(serving)
        for preset in front.presets:
            read_preset(preset)
    except OptionError as error:
        yield Fault(lesson.path, 1, f"front matter: {error}")


def _terms(lesson: Lesson) -> Iterator[Fault]:
    """A marked term must be in the glossary, and is marked only where it first stands."""
    known = glossary(lesson.path.parent.name) or glossary()
    seen: set[str] = set()
    for block in lesson.blocks:
        for first_line, text in [(block.body_line, block.body), *((one.line, one.value) for one in block.settings)]:
            for offset, term in marked(text):
                line = first_line + text.count("\n", 0, offset)
                if term not in known:
                    yield Fault(lesson.path, line, f"the glossary has no term {term!r}")
                elif term in seen:
                    yield Fault(lesson.path, line, f"the term {term!r} is marked twice; mark it where it first stands")
                seen.add(term)


def _duplicate_ids(lesson: Lesson) -> Iterator[Fault]:
    """An id names one screen, question or card; a comparison shares the id of its prediction."""
    seen: Counter[tuple[str, str]] = Counter()
    for block in lesson.blocks:
        directive = DIRECTIVES.get(block.name)
        if directive is None or directive.argument != "id" or not block.argument:
            continue
        kind = "question" if block.name in QUESTIONS else block.name
        seen[kind, block.argument] += 1
        if seen[kind, block.argument] == 2:
            yield Fault(lesson.path, block.line, f"the id {block.argument!r} is used twice")


def _own_names(lesson: Lesson) -> dict[str, str]:
    """Names that the lesson itself brings: numbers that its questions give, its instruments' results, a second run."""
    names = dict(OTHER_KINDS) if lesson.front.other else {}
    for block in lesson.blocks:
        if block.name in QUESTIONS:
            names |= {f"check.{given.partition('=')[0].strip()}": "count" for given in block.values("given")}
        if block.name == "instrument":
            names |= published_kinds(block.argument)
    return names


def _values(lesson: Lesson, run: Run | None, other: Run | None) -> dict[str, Value]:
    """Values to try expressions with: the recordings', what needs no run, and 1 for what an instrument will give."""
    own = {name: "text" if kind == "text" else 1 for name, kind in _own_names(lesson).items()}
    recorded = {**(values_of(run) if run else {}), **(other_values_of(other, run) if other else {})}
    return {**own, **named_shapes.named_values(), **recorded}


def _check_block(block: Block, lesson: Lesson) -> Iterator[Fault]:
    directive = DIRECTIVES.get(block.name)
    if block.name == "prose":
        return
    if directive is None:
        yield Fault(lesson.path, block.line, f"unknown directive :::{block.name}; there are {', '.join(DIRECTIVES)}")
        return
    if directive.argument == "id" and not block.argument:
        yield Fault(lesson.path, block.line, f":::{block.name} needs an id after its name")
    if directive.argument == "choice" and block.argument not in directive.choices:
        choices = ", ".join(directive.choices)
        yield Fault(lesson.path, block.line, f":::{block.name} must be one of: {choices}; not {block.argument!r}")
    if directive.needs_text and not block.body.strip() and not block.value("source"):
        yield Fault(lesson.path, block.line, f":::{block.name} has no text")
    if block.name == "instrument":
        yield from _check_instrument(block, lesson)
        return
    for setting in block.settings:
        if setting.key not in directive.settings:
            known = ", ".join(sorted(directive.settings)) or "none"
            message = f"unknown setting {setting.key!r} of :::{block.name} (known: {known})"
            yield Fault(lesson.path, setting.line, message)
        if setting.key == "option" and "$" in setting.value:
            yield Fault(lesson.path, setting.line, "an option takes no formula: the card of a guess shows it as typed")
    for key in sorted(directive.required):
        if not block.value(key):
            yield Fault(lesson.path, block.line, f":::{block.name} has no {key}:")
    yield from _check_links(block, lesson)


def _check_instrument(block: Block, lesson: Lesson) -> Iterator[Fault]:
    """The settings of an instrument are its own."""
    instrument = INSTRUMENTS.get(block.argument)
    if instrument is None:
        return
    for setting in block.settings:
        if problem := instrument.problem(setting.key, setting.value):
            yield Fault(lesson.path, setting.line, f":::instrument {block.argument}: {problem}")
    for key in sorted(instrument.required):
        if not block.value(key):
            yield Fault(lesson.path, block.line, f":::instrument {block.argument} has no {key}:")


def _check_links(block: Block, lesson: Lesson) -> Iterator[Fault]:
    """What a block refers to must be there: predictions, cards, code."""
    for setting in block.settings:
        if setting.key in ("asks", "after") and lesson.find("predict", setting.value) is None:
            yield Fault(lesson.path, setting.line, f"there is no :::predict {setting.value}")
        if setting.key == "near" and lesson.find("card", setting.value.rpartition("->")[2].strip()) is None:
            yield Fault(lesson.path, setting.line, f"there is no :::card {setting.value.rpartition('->')[2].strip()}")
        if setting.key == "source":
            try:
                excerpt(setting.value)
            except (SourceError, OSError, SyntaxError) as error:
                yield Fault(lesson.path, setting.line, str(error))
    if block.name == "compare" and block.argument and lesson.find("predict", block.argument) is None:
        yield Fault(lesson.path, block.line, f"there is no :::predict {block.argument}")


def _check_expressions(
    block: Block, path: Path, own_names: Mapping[str, str], values: Mapping[str, Value]
) -> Iterator[Fault]:
    for first_line, text in [(block.body_line, block.body), *((one.line, one.value) for one in block.settings)]:
        for found in placeholders(text):
            offset = found.start if isinstance(found, Placeholder) else found[0]
            line = first_line + text.count("\n", 0, offset)
            if isinstance(found, Placeholder):
                yield from _fault_of(found, path, line, own_names, values)
            else:
                yield Fault(path, line, str(found[1]))
    if block.name in QUESTIONS and block.value("answer") and block.value("kind"):
        yield from _check_question(block, path, own_names, values)


def _fault_of(
    found: Placeholder, path: Path, line: int, own_names: Mapping[str, str], values: Mapping[str, Value]
) -> Iterator[Fault]:
    expression = found.expression
    try:
        _check_names(expression, own_names)
        kind = kind_of(expression.names[0], own_names) if expression.is_name else None
        check_filters(found.filters, kind)
        if all(name in values for name in expression.names):
            write(expression.evaluate(values), found.filters)
    except ExpressionError as error:
        yield Fault(path, line, str(error))


def _check_question(
    block: Block, path: Path, own_names: Mapping[str, str], values: Mapping[str, Value]
) -> Iterator[Fault]:
    line = next(setting.line for setting in block.settings if setting.key == "answer")
    try:
        question = Question.of(block)
        computed = [question.answer, *(near.value for near in question.near)]
        for source in (one for one in computed if not isinstance(one, str)):
            _check_names(source, own_names)
            if all(name in values for name in source.names):
                source.evaluate(values)
        if question.axes is not None:
            yield from _check_curves(question, block, path, {**values, **question.given})
    except ExpressionError as error:
        yield Fault(path, line, str(error))


def _check_curves(question: Question, block: Block, path: Path, values: Mapping[str, Value]) -> Iterator[Fault]:
    """A right curve that cannot be drawn, or a belief that would pass for right."""
    lines = {key: [one.line for one in block.settings if one.key == key] for key in ("answer", "near")}
    sources = (question.answer, *(near.value for near in question.near))
    right, *beliefs = (_drawn(source, question, values) for source in sources)
    if right is None:
        return
    if not question.accepts(right):
        message = f"the right curve leaves the drawing, which goes from {question.smallest} to {question.largest}"
        yield Fault(path, lines["answer"][-1], message)
    for near, belief, line in zip(question.near, beliefs, lines["near"], strict=True):
        if belief is not None and question.same(belief, right):
            yield Fault(path, line, f"the belief of {near.card} is so near the right curve that it counts as right")


def _drawn(source: Source, question: Question, values: Mapping[str, Value]) -> Points | None:
    """A curve where it is known before an instrument has been used: what stands in for its results is no result."""
    if not isinstance(source, Curve):
        return None
    known = all(name in values and (name in question.given or kind_of(name, OTHER_KINDS)) for name in source.names)
    return source.evaluate(values) if known else None


def _check_names(expression: Expression | Curve, own_names: Mapping[str, str]) -> None:
    for name in expression.names:
        if kind_of(name, own_names) is None:
            raise ExpressionError(f"unknown name `{name}` in `{expression.source}`")


def _typed(block: Block, path: Path) -> Iterator[Fault]:
    if block.name == "sources":
        return
    texts = [(block.body_line, block.body)]
    texts += [(one.line, one.value) for one in block.settings if one.key in _READ]
    for first_line, text in texts:
        for offset, number in typed_numbers(text):
            message = f"the number {number} is typed; numbers in prose come from an expression, {{{{ like.this }}}}"
            yield Fault(path, first_line + offset, message)
