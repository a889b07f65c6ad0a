"""Every word that the flipbook shows, in one place; the browser only fills in the numbers.

A value is a string with {places}, or its plural forms by category ("one", "other", ...), chosen in the browser by `n`
after the language's own rules. The names are the keys that views/assets/flipbook asks for.
"""

from __future__ import annotations

Word = str | dict[str, str]

_PICTURE: dict[str, Word] = {
    "group": "Flipbook of one request",
    "attention": "attention",
    "delta": "DeltaNet",
    "kept": "kept",
    "entries": {"one": "{n} entry", "other": "{n} entries"},
    "tokens": {"one": "{n} token", "other": "{n} tokens"},
    "layers": {"one": "{n} layer", "other": "{n} layers"},
    "fold_unit": {"one": "token", "other": "tokens"},
    "unfold": "Unfold: show every column",
    "fold": "Fold: fit the whole run in view",
    "columns": "Columns of the picture, scrollable",
    "prompt_span": {"one": "prompt, {n} token", "other": "prompt, {n} tokens"},
    "new_span": "new tokens, fed back one by one",
    "new_span_short": "new",
    "engine_here": "engine",
    "end_of_text": "‹end of text›",
    "spaces": {"one": "a space", "other": "{n} spaces"},
}

_CAPTIONS: dict[str, Word] = {
    "title_prefill": "Prefill: the whole prompt in one pass",
    "title_chunk": "Prefill: a part of the prompt in one pass",
    "title_decode": "Decode: one token in, one token out",
    "title_decode_many": "Decode: {tokens_in} in, {tokens_out} out",
    "sub_prefill": {
        "one": "The one token goes through all {layers}.",
        "other": "All {tokens} go through all {layers} side by side.",
    },
    "sub_decode": {
        "one": "Only {token} goes through the {layers}.",
        "other": "{tokens} go through the {layers} side by side.",
    },
    "sub_weights": {
        "one": "The weights, {weights}, are read for this one token.",
        "other": "The weights, {weights}, are read once, for all of them.",
    },
    "sub_drafts": {
        "one": "The last one is a guess, checked here: {right} right.",
        "other": "The last {n} are guesses, checked here: {right} right.",
    },
    "sub_nothing_kept": "Nothing is kept: the next pass begins at the first token again.",
    "sub_attention_first": "Attention keeps an entry for each.",
    "sub_attention_again": {
        "one": "Attention reads the {entries} back.",
        "other": "Attention reads {entries} back.",
    },
    "sub_delta_first": "DeltaNet keeps one state a layer.",
    "sub_delta_again": "DeltaNet rewrites one state a layer.",
    "sub_shared": {"one": "Shared with {n} other request.", "other": "Shared with {n} other requests."},
    "text_so_far": "The text so far",
}

_STATES: dict[str, Word] = {
    "empty_title": "No run yet",
    "empty_sub": "Type a prompt and run it: every pass of the model will be drawn here as it happens.",
    "hidden_title": "The run is recorded; your guess first",
    "hidden_sub": "Here is the prompt, and the layers that it will go through.",
    "hidden_picture": "The prompt of {tokens} over {layers}. The run stays hidden until you have guessed.",
    "glimpse_title": "A small model at work",
    "glimpse_sub": "A recorded run, slowed down: the prompt first, then token after token.",
    "glimpse_picture": "A recorded run plays over {layers}: a prompt of {tokens}, then new tokens one after another.",
    "connecting_title": "Asking the engine",
    "connecting_sub": "The request has been sent.",
    "queued_title": "In the queue",
    "queued_sub": {"one": "{n} request before yours.", "other": "{n} requests before yours."},
    "reading_title": "Prefill is running",
    "reading_sub": {"one": "{n} token is being read.", "other": "All {n} tokens are being read at once."},
    "live": "running",
    "live_behind": "running, engine at pass {pass}",
    "live_slowed": "slowed, engine at pass {pass}",
    "live_slowed_over": "slowed, engine done",
    "cancelled": {"one": "Stopped by you after {n} pass.", "other": "Stopped by you after {n} passes."},
    "failed": "{message}",
    "failed_kept": {
        "one": "{message} The {n} pass that was computed stays here.",
        "other": "{message} The {n} passes that were computed stay here.",
    },
    "lost": "Connection lost, trying again. What has arrived stays here.",
    "load_failed": "The picture could not be loaded. Reload the page to try again.",
}

_EVIDENCE: dict[str, Word] = {
    "evidence_measured": "measured here",
    "evidence_measured_tip": "Timed by this page's engine while it ran, on {device} ({threads}).",
    "evidence_recorded": "recorded",
    "evidence_recorded_when": "recorded {date}",
    "evidence_recorded_tip": "A saved run: timed on {date} on {device} ({threads}), and shown as it was. "
    "Nothing is computed now.",
    "evidence_simulated": "simulated",
    "evidence_simulated_tip": "Times come from cost formulas on a virtual clock, not from a machine that ran.",
    "threads": {"one": "{n} thread", "other": "{n} threads"},
}

_PANELS: dict[str, Word] = {
    "memory": "Memory kept",
    "kv_cache": "KV cache",
    "kv_detail": "{tokens} × {each}",
    "state": "State",
    "state_detail": "one size at every token",
    "equal_at": "equal at",
    "memory_picture": "KV cache {kv} after {tokens}, growing by {each} a token; state {state}, fixed.",
    "memory_nothing": "This run keeps nothing between its passes.",
    "memory_picture_meeting": "They are equal at {tokens}.",
    "legend_now": "computed in this pass",
    "legend_kv": "kept: a key and a value",
    "legend_past": "passed, nothing kept",
    "legend_state": "kept: one state",
    "odds": "Odds from pass {pass}",
    "odds_none": "Odds",
    "odds_wait": "They come when the pass is over.",
    "odds_silent": "This pass read a part of the prompt and emitted nothing.",
    "others": {"one": "{n} other", "other": "{n} others"},
    "chosen": "chosen",
    "cut": "cut",
    "odds_greedy": "Greedy: the likeliest is taken.",
    "odds_drawn": "Drawn at temperature {temperature}{truncation}.",
    "odds_top_k": ", top-k {n}",
    "odds_top_p": ", top-p {share}",
    "odds_tick": "The tick is the model's own odds.",
    "odds_more": {"one": "{n} more token came out of this pass:", "other": "{n} more tokens came out of this pass:"},
    "time": "Time, to scale",
    "time_picture": "Time axis: {passes} in {total}.",
    "passes": {"one": "{n} pass", "other": "{n} passes"},
    "first_token": "time to first token {time}",
    "first_token_queue": "time to first token {time}, of it {queue} in the queue",
    "between": "then a token every {time} (median)",
}

_CONTROLS: dict[str, Word] = {
    "first": "First pass",
    "back": "Back one pass",
    "play": "Play",
    "pause": "Pause",
    "forward": "Forward one pass",
    "last": "Last pass",
    "scrub": "Pass",
    "speed": "Playing speed",
    "speed_real": "as it happened",
    "speed_slow10": "10× slower",
    "speed_slow100": "100× slower",
    "speed_even": "even steps",
    "back_to_live": "Back to live",
    "table": "Table of the passes",
    "hint": "← → step   space play   T table",
    "pass_of": "Pass {pass} of {passes}",
    "pass_so_far": "Pass {pass} of {passes} so far",
    "prefill": "prefill",
    "decode": "decode",
    "detail_prefill": {"one": "{tokens} in → {out} out", "other": "{tokens} in, all at once → {out} out"},
    "detail_decode": {"one": "{token} in, alone → {out} out", "other": "{tokens} in → {out} out"},
    "detail_nothing": "nothing",
    "detail_running": "…",
    "quoted": "“{token}”",
    "value_text": "{pass}, {phase}, {tokens_in} in, {tokens_out} out",
    "announced": "{pass}, {phase}. {tokens_in} in, {tokens_out} out. KV cache {kv}, state {state}.",
}

_TABLE: dict[str, Word] = {
    "table_caption": "Every pass of this run. The one at the cursor is marked.",
    "column_pass": "Pass",
    "column_phase": "Phase",
    "column_tokens_in": "Tokens in",
    "column_tokens_out": "Tokens out",
    "column_duration": "Time",
    "column_kv": "KV cache after",
    "column_state": "State after",
}

_TIPS: dict[str, Word] = {
    "tip_token": "{token}, position {position}",
    "tip_attention": "Layer {layer}, attention: keeps a key and a value for this token.",
    "tip_attention_next": "Layer {layer}, attention: will keep a key and a value for the token that comes here.",
    "tip_delta": "Layer {layer}, DeltaNet: keeps nothing for this token alone; it is folded into the one state.",
    "tip_kept_attention": "Layer {layer} keeps {entries}: a key and a value for each token so far.",
    "tip_kept_delta": "Layer {layer} keeps one state, rewritten by every pass, always of one size.",
    "tip_fold": {"one": "{n} token, folded. Click to unfold.", "other": "{n} tokens, folded. Click to unfold."},
    "tip_pass": "Pass {pass}, {phase}: {time}",
}


def labels(language: str = "en") -> dict[str, Word]:
    """All words by name, and the language whose plural and number rules the browser follows."""
    return {
        "lang": language,
        **_PICTURE,
        **_CAPTIONS,
        **_STATES,
        **_EVIDENCE,
        **_PANELS,
        **_CONTROLS,
        **_TABLE,
        **_TIPS,
    }
