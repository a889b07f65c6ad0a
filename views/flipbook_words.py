"""Every word that the flipbook shows, in one place; the browser only fills in the numbers.

A value is a string with {places}, or its plural forms by category ("one", "other", ...), chosen in the browser by `n`
after the language's own rules. The names are the keys that views/assets/flipbook asks for.
"""

from __future__ import annotations

from views.engine_faults import fault_labels
from views.words import _, language, ngettext, speaking

Word = str | dict[str, str]

NUMBERS_AS_IN = {"es": "es-MX"}
"""Where a language's countries differ: with a decimal point, as on the rest of the page and in what is downloaded."""

PLURALS = {"one": 1, "other": 2}
"""Category -> a number that is in it. Both of our languages have these two for the numbers that occur here; another
may need more, as Polish does ("few": 2, "many": 5).
"""


def counted(one: str, other: str) -> Word:
    """The plural forms that the browser chooses from."""
    return {category: ngettext(one, other, n) for category, n in PLURALS.items()}


def _picture() -> dict[str, Word]:
    return {
        "group": _("Flipbook of one request"),
        "attention": _("attention"),
        "delta": _("DeltaNet"),
        "kept": _("kept"),
        "entries": counted("{n} entry", "{n} entries"),
        "tokens": counted("{n} token", "{n} tokens"),
        "layers": counted("{n} layer", "{n} layers"),
        "fold_unit": counted("token", "tokens"),
        "unfold": _("Unfold: show every column"),
        "fold": _("Fold: fit the whole run in view"),
        "columns": _("Columns of the picture, scrollable"),
        "prompt_span": counted("prompt, {n} token", "prompt, {n} tokens"),
        "new_span": _("new tokens, fed back one by one"),
        "new_span_short": _("new"),
        "engine_here": _("engine"),
        "end_of_text": _("‹end of text›"),
        "spaces": counted("a space", "{n} spaces"),
    }


def _captions() -> dict[str, Word]:
    return {
        "title_prefill": _("Prefill: the whole prompt in one pass"),
        "title_chunk": _("Prefill: a part of the prompt in one pass"),
        "title_decode": _("Decode: one token in, one token out"),
        "title_decode_many": _("Decode: {tokens_in} in, {tokens_out} out"),
        "sub_prefill": counted(
            "The one token goes through all {layers}.",
            "All {tokens} go through all {layers} side by side.",
        ),
        "sub_decode": counted(
            "Only {token} goes through the {layers}.",
            "{tokens} go through the {layers} side by side.",
        ),
        "sub_weights": counted(
            "The weights, {weights}, are read for this one token.",
            "The weights, {weights}, are read once, for all of them.",
        ),
        "sub_drafts": counted(
            "The last one is a guess, checked here: {right} right.",
            "The last {n} are guesses, checked here: {right} right.",
        ),
        "sub_nothing_kept": _("Nothing is kept: the next pass begins at the first token again."),
        "sub_attention_first": _("Attention keeps an entry for each."),
        "sub_attention_again": counted("Attention reads the {entries} back.", "Attention reads {entries} back."),
        "sub_delta_first": _("DeltaNet keeps one state a layer."),
        "sub_delta_again": _("DeltaNet rewrites one state a layer."),
        "sub_shared": counted("Shared with {n} other request.", "Shared with {n} other requests."),
        "text_so_far": _("The text so far"),
    }


def _states() -> dict[str, Word]:
    return {
        "empty_title": _("No run yet"),
        "empty_sub": _("Type a prompt and run it: every pass of the model will be drawn here as it happens."),
        "hidden_title": _("The run is recorded; your guess first"),
        "hidden_sub": _("Here is the prompt, and the layers that it will go through."),
        "hidden_picture": _("The prompt of {tokens} over {layers}. The run stays hidden until you have guessed."),
        "glimpse_title": _("A small model at work"),
        "glimpse_sub": _("A recorded run, slowed down: the prompt first, then token after token."),
        "glimpse_picture": _(
            "A recorded run plays over {layers}: a prompt of {tokens}, then new tokens one after another."
        ),
        "connecting_title": _("Asking the engine"),
        "connecting_sub": _("The request has been sent."),
        "queued_title": _("In the queue"),
        "queued_sub": counted("{n} request before yours.", "{n} requests before yours."),
        "queued_place": _("Yours is number {place} of those that wait."),
        "queued_wait": counted(
            "It should begin in about {time}, estimated from the last run.",
            "It should begin in about {time}, estimated from the last {n} runs.",
        ),
        "queued_reserved": _(
            "The instructor has reserved the engine for a timing experiment until {time}. Your run goes on by itself "
            "then."
        ),
        "reading_title": _("Prefill is running"),
        "reading_sub": counted("{n} token is being read.", "All {n} tokens are being read at once."),
        "live": _("running"),
        "live_behind": _("running, engine at pass {pass}"),
        "live_slowed": _("slowed, engine at pass {pass}"),
        "live_slowed_over": _("slowed, engine done"),
        "cancelled": counted("Stopped by you after {n} pass.", "Stopped by you after {n} passes."),
        "failed": "{message}",
        "failed_kept": counted(
            "{message} The {n} pass that was computed stays here.",
            "{message} The {n} passes that were computed stay here.",
        ),
        "lost": _("Connection lost, trying again. What has arrived stays here."),
        "load_failed": _("The picture could not be loaded. Reload the page to try again."),
    }


def _evidence() -> dict[str, Word]:
    return {
        "evidence_measured": _("measured here"),
        "evidence_alone": _("measured alone"),
        "evidence_load": _("measured under load"),
        "evidence_alone_tip": _("No other request of this engine was before it or shared a pass with it."),
        "evidence_load_tip": _(
            "{ahead} before it when it arrived; in its fullest pass {most} took part. Alone it would have been faster."
        ),
        "requests": counted("{n} request", "{n} requests"),
        "evidence_measured_tip": _("Timed by this page's engine while it ran, on {device} ({threads})."),
        "evidence_recorded": _("recorded"),
        "evidence_recorded_when": _("recorded {date}"),
        "evidence_recorded_tip": _(
            "A saved run: timed on {date} on {device} ({threads}), and shown as it was. Nothing is computed now."
        ),
        "evidence_simulated": _("simulated"),
        "evidence_simulated_tip": _("Times come from cost formulas on a virtual clock, not from a machine that ran."),
        "threads": counted("{n} thread", "{n} threads"),
    }


def _panels() -> dict[str, Word]:
    return {
        "memory": _("Memory kept"),
        "kv_cache": _("KV cache"),
        "kv_detail": _("{tokens} × {each}"),
        "state": _("State"),
        "state_detail": _("one size at every token"),
        "equal_at": _("equal at"),
        "memory_picture": _("KV cache {kv} after {tokens}, growing by {each} a token; state {state}, fixed."),
        "memory_nothing": _("This run keeps nothing between its passes."),
        "memory_picture_meeting": _("They are equal at {tokens}."),
        "legend_now": _("computed in this pass"),
        "legend_kv": _("kept: a key and a value"),
        "legend_past": _("passed, nothing kept"),
        "legend_state": _("kept: one state"),
        "odds": _("Odds from pass {pass}"),
        "odds_none": _("Odds"),
        "odds_wait": _("They come when the pass is over."),
        "odds_silent": _("This pass read a part of the prompt and emitted nothing."),
        "others": counted("{n} other", "{n} others"),
        "chosen": _("chosen"),
        "cut": _("cut"),
        "odds_greedy": _("Greedy: the likeliest is taken."),
        "odds_drawn": _("Drawn at temperature {temperature}{truncation}."),
        "odds_top_k": _(", top-k {n}"),
        "odds_top_p": _(", top-p {share}"),
        "odds_tick": _("The tick is the model's own odds."),
        "odds_more": counted("{n} more token came out of this pass:", "{n} more tokens came out of this pass:"),
        "time": _("Time, to scale"),
        "time_picture": _("Time axis: {passes} in {total}."),
        "passes": counted("{n} pass", "{n} passes"),
        "first_token": _("time to first token {time}"),
        "first_token_queue": _("time to first token {time}, of it {queue} in the queue"),
        "between": _("then a token every {time} (median)"),
    }


def _controls() -> dict[str, Word]:
    return {
        "first": _("First pass"),
        "back": _("Back one pass"),
        "play": _("Play"),
        "pause": _("Pause"),
        "forward": _("Forward one pass"),
        "last": _("Last pass"),
        "scrub": _("Pass"),
        "speed": _("Playing speed"),
        "speed_real": _("as it happened"),
        "speed_slow10": _("10× slower"),
        "speed_slow100": _("100× slower"),
        "speed_even": _("even steps"),
        "back_to_live": _("Back to live"),
        "table": _("Table of the passes"),
        "hint": _("← → step   space play   T table"),
        "pass_of": _("Pass {pass} of {passes}"),
        "pass_so_far": _("Pass {pass} of {passes} so far"),
        "prefill": _("prefill"),
        "decode": _("decode"),
        "detail_prefill": counted("{tokens} in → {out} out", "{tokens} in, all at once → {out} out"),
        "detail_decode": counted("{token} in, alone → {out} out", "{tokens} in → {out} out"),
        "detail_nothing": _("nothing"),
        "detail_running": "…",
        "quoted": _("“{token}”"),
        "value_text": _("{pass}, {phase}, {tokens_in} in, {tokens_out} out"),
        "announced": _("{pass}, {phase}. {tokens_in} in, {tokens_out} out. KV cache {kv}, state {state}."),
    }


def _table() -> dict[str, Word]:
    return {
        "table_caption": _("Every pass of this run. The one at the cursor is marked."),
        "column_pass": _("Pass"),
        "column_phase": _("Phase"),
        "column_tokens_in": _("Tokens in"),
        "column_tokens_out": _("Tokens out"),
        "column_duration": _("Time"),
        "column_kv": _("KV cache after"),
        "column_state": _("State after"),
    }


def _tips() -> dict[str, Word]:
    return {
        "tip_token": _("{token}, position {position}"),
        "tip_attention": _("Layer {layer}, attention: keeps a key and a value for this token."),
        "tip_attention_next": _("Layer {layer}, attention: will keep a key and a value for the token that comes here."),
        "tip_delta": _("Layer {layer}, DeltaNet: keeps nothing for this token alone; it is folded into the one state."),
        "tip_kept_attention": _("Layer {layer} keeps {entries}: a key and a value for each token so far."),
        "tip_kept_delta": _("Layer {layer} keeps one state, rewritten by every pass, always of one size."),
        "tip_fold": counted("{n} token, folded. Click to unfold.", "{n} tokens, folded. Click to unfold."),
        "tip_pass": _("Pass {pass}, {phase}: {time}"),
    }


def labels(code: str | None = None) -> dict[str, Word]:
    """All words by name, and the language whose plural and number rules the browser follows; without one, the
    person's.
    """
    code = code or language()
    with speaking(code):
        return {
            "lang": NUMBERS_AS_IN.get(code, code),
            **_picture(),
            **_captions(),
            **_states(),
            **_evidence(),
            **_panels(),
            **_controls(),
            **_table(),
            **_tips(),
            **fault_labels(),
        }
