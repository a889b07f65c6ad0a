"""A lesson on paper: one HTML file with the lesson's words, its recorded run as a table and figures, and the answers.

It needs nothing else: no script, no font, no picture from elsewhere; a policy in the file forbids the browser to fetch
any. Formulas become MathML. Whatever came from a person or a model is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from html import escape

from latex2mathml.converter import convert
from latex2mathml.exceptions import ExtraLeftOrMissingRightError
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from engine.account.record import Pass, Run
from lessons.catalogue import language_of
from lessons.code_source import SourceError, excerpt
from lessons.filters import binary_bytes, significant
from lessons.glossary import glossary, marked
from lessons.instruments import INSTRUMENTS
from lessons.questions import Question
from lessons.structure import Block, Lesson
from views.answer_key import right_answer
from views.evidence import LABELS, source_line, timing_evidence
from views.handout_style import STYLE
from views.handout_svg import curve_svg, memory_svg, passes_svg
from views.markdown_html import reader
from views.metrics import readings
from views.prose import filled
from views.questions import right_value
from views.recorded_lesson import RecordedLesson
from views.safe_text import token_label
from views.words import N_, Words, _, language, speaking_as

DEPTHS = Words({"concept": N_("In words"), "maths": N_("In formulas"), "code": N_("In code")})

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def handout(lesson: Lesson) -> str:
    """The whole document, in the lesson's own language."""
    with speaking_as(language_of(lesson)):
        return _document(lesson)


def _document(lesson: Lesson) -> str:
    recorded = RecordedLesson.of(lesson)
    number = _("Lesson {number}").format(number=lesson.number)
    body = [
        f"<header><p>{escape(number)} · Two Speeds</p><h1>{escape(lesson.front.title)}</h1>",
        f"<p class='question'>{escape(lesson.front.question)}</p></header>",
        *(_PARTS[block.name](block, recorded) for block in _untold(lesson.blocks) if block.name in _PARTS),
        _beliefs(recorded),
        _terms(lesson),
        _answers(recorded),
    ]
    return (
        f"<!doctype html>\n<html lang='{language()}'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{escape(number)}: {escape(lesson.front.title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _untold(blocks: Sequence[Block]) -> list[Block]:
    """The blocks in order, but the table of the passes, which tells the answer, under the answer's own heading."""
    ordered = list(blocks)
    picture = next((place for place, one in enumerate(ordered) if one.name == "flipbook"), None)
    told = next((place for place, one in enumerate(ordered) if one.name == "screen" and one.value("after")), None)
    if picture is not None and told is not None and picture < told:
        ordered.insert(told, ordered.pop(picture))
    return ordered


@cache
def _markdown() -> MarkdownIt:
    return reader().use(dollarmath_plugin, renderer=_formula)


def _formula(source: str, options: dict[str, bool]) -> str:
    try:
        return convert(source, display="block" if options["display_mode"] else "inline")
    except (ValueError, IndexError, KeyError, ExtraLeftOrMissingRightError):
        return f"<code>{escape(source)}</code>"


def _html(text: str, recorded: RecordedLesson) -> str:
    return str(_markdown().render(filled(text, recorded.values)))


def _line(text: str, recorded: RecordedLesson) -> str:
    return str(_markdown().renderInline(filled(text, recorded.values)))


def _screen(block: Block, recorded: RecordedLesson) -> str:
    # What answers a guess begins on a new sheet, so that the question can be given out alone.
    told = " class='told'" if block.value("after") else ""
    title = f"<h2{told}>{_line(block.value('title') or '', recorded)}</h2>" if block.value("title") else ""
    return title + _html(block.body, recorded)


def _prompt(_block: Block, recorded: RecordedLesson) -> str:
    front = recorded.lesson.front
    told = _("The prompt of the recorded run, and how many new tokens were asked for:")
    return f"<p>{escape(told)} <code>{escape(front.prompt)}</code>, {front.new_tokens}</p>"


def _ask(block: Block, recorded: RecordedLesson) -> str:
    question = Question.of(block)
    given = RecordedLesson(recorded.lesson, recorded.run, recorded.other, {**recorded.values, **question.given})
    return f"<section class='ask'>{_html(question.text, given)}{_space(question, given)}</section>"


def _space(question: Question, given: RecordedLesson) -> str:
    """Where the answer goes: options to choose from, axes to draw on, or a line to write a number on."""
    if question.axes is not None:
        return f"<figure>{curve_svg(question, question.axes)}</figure>"
    options = "".join(f"<li>{_line(option, given)}</li>" for option in question.options.values())
    return f"<ul class='options'>{options}</ul>" if options else f"<p class='space'>{escape(question.unit)}</p>"


def _compare(block: Block, recorded: RecordedLesson) -> str:
    predicted = recorded.lesson.find("predict", block.argument)
    right = ""
    if predicted is not None:
        question = Question.of(predicted)
        label = escape(question.outcome or _("The model ran"))
        right = f"<p class='right'>{label}: {_right(question, recorded)}"
    return right + _html(block.body, recorded)


def _right(question: Question, recorded: RecordedLesson) -> str:
    """The right answer in words, or drawn."""
    curve = right_value(question, recorded.values)
    if question.axes is not None and isinstance(curve, tuple):
        return f"</p><figure>{curve_svg(question, question.axes, curve)}</figure>"
    return f"<strong>{_markdown().renderInline(right_answer(question, recorded.values))}</strong></p>"


def _passes(_block: Block, recorded: RecordedLesson) -> str:
    runs = [run for run in (recorded.run, recorded.other) if run is not None and run.passes]
    return "".join(_passes_table(run) for run in runs)


def _passes_table(run: Run) -> str:
    names = (_("pass"), _("phase"), _("tokens in"), _("ms"), _("KV cache held"), _("state held"), _("token out"),
             _("its odds"))  # fmt: skip
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(one))}</tr>" for one in run.passes)
    caption = escape(_("Every pass of the run")) + f", {_source(run)}"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(one: Pass) -> list[str]:
    odds = ["" if emission.odds is None else f"{emission.odds:.1%}" for emission in one.emitted]
    return [
        str(one.number + 1),
        one.phase,
        str(len(one.token_ids)),
        significant((one.end_ns - one.start_ns) / 1e6),
        binary_bytes(one.kv_bytes_held),
        binary_bytes(one.state_bytes_held),
        " ".join(token_label(emission.token.text) for emission in one.emitted),
        " ".join(odds),
    ]


def _source(run: Run) -> str:
    """Recorded or simulated, and on what: as HTML."""
    kind = LABELS[timing_evidence(run, recorded=True)]
    return f"{escape(kind)}: {_markdown().renderInline(source_line(run, recorded=True))}"


def _figure(block: Block, recorded: RecordedLesson) -> str:
    run = recorded.run
    if run is None or not run.passes:
        return ""
    if block.argument == "passes":
        return f"<figure>{passes_svg(run)}<figcaption>{_('When each pass ran')}, {_source(run)}</figcaption></figure>"
    told = _("What is kept between passes, computed from the model's shape; dashed: by the same formula, further on.")
    return f"<figure>{memory_svg(run)}<figcaption>{escape(told)}</figcaption></figure>"


def _metrics(_block: Block, recorded: RecordedLesson) -> str:
    if recorded.run is None:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escape(one.label)}</th><td>{escape(one.value or one.reason)}</td></tr>"
        for one in readings(recorded.run)
    )
    caption = f"{escape(_('Timings of the run'))}, {_source(recorded.run)}"
    return f"<table><caption>{caption}</caption><tbody>{rows}</tbody></table>"


def _instrument(block: Block, _recorded: RecordedLesson) -> str:
    """What a person changes cannot be printed: the handout says what is on the page in its place."""
    shown = INSTRUMENTS.get("trace" if block.name == "trace" else block.argument)
    if shown is None:
        return ""
    title, purpose = escape(_(shown.title)), escape(_(shown.purpose))
    return f"<p class='aside'>{escape(_('On the page:'))} <em>{title}</em>. {purpose}</p>"


def _depth(block: Block, recorded: RecordedLesson) -> str:
    code = "".join(_code(reference) for reference in block.values("source"))
    return f"<h3>{escape(DEPTHS[block.argument])}</h3>{_html(block.body, recorded)}{code}"


def _code(reference: str) -> str:
    try:
        shown = excerpt(reference)
    except (SourceError, OSError, SyntaxError):
        return ""
    where = f"{shown.path}, {_('from line')} {shown.first_line}"
    return f"<figure><pre><code>{escape(shown.code)}</code></pre><figcaption>{escape(where)}</figcaption></figure>"


def _beliefs(recorded: RecordedLesson) -> str:
    cards = [
        f"<dt>{_line(card.value('title') or '', recorded)}</dt><dd>{_html(card.body, recorded)}</dd>"
        for card in recorded.lesson.named("card")
    ]
    title = escape(_("What people often believe, and what holds"))
    return f"<h2 class='told'>{title}</h2><dl>{''.join(cards)}</dl>" if cards else ""


def _terms(lesson: Lesson) -> str:
    sentences = {**glossary(), **glossary(lesson.path.parent.name)}
    texts = [text for block in lesson.blocks for text in (block.body, *(one.value for one in block.settings))]
    terms = dict.fromkeys(term for text in texts for _offset, term in marked(text) if term in sentences)
    rows = [f"<dt>{escape(term)}</dt><dd>{_markdown().renderInline(sentences[term])}</dd>" for term in terms]
    return f"<h2>{escape(_('Terms'))}</h2><dl>{''.join(rows)}</dl>" if rows else ""


def _answers(recorded: RecordedLesson) -> str:
    rows = []
    for block in recorded.lesson.named("check"):
        question = Question.of(block)
        answer = right_answer(question, {**recorded.values, **question.given})
        rows.append(f"<li><strong>{_markdown().renderInline(answer)}</strong>. {_line(question.right, recorded)}</li>")
    title = escape(_("Answers to the checks"))
    return f"<h2 class='told'>{title}</h2><ol>{''.join(rows)}</ol>" if rows else ""


def _sources(block: Block, recorded: RecordedLesson) -> str:
    return f"<h2>{escape(_('Sources'))}</h2>{_html(block.body, recorded)}"


_PARTS: dict[str, Callable[[Block, RecordedLesson], str]] = {
    "screen": _screen,
    "prose": lambda block, recorded: _html(block.body, recorded),
    "run": _prompt,
    "predict": _ask,
    "flipbook": _passes,
    "compare": _compare,
    "metrics": _metrics,
    "figure": _figure,
    "instrument": _instrument,
    "trace": _instrument,
    "depth": _depth,
    "check": _ask,
    "sources": _sources,
}
