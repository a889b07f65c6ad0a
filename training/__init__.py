"""How the bundled checkpoint was made, runnable.

    python -m training prepare STORIES     split, tidy and encode the story files into models/.training/tokens
    python -m training train --minutes 110 train, or go on from models/.training/state.pt; SIGTERM saves and ends
    python -m training export              write models/story, with held-out losses and samples in its model card
    python -m training sample              print twenty stories of models/story

The text goes through `sources.py` (which files, how much of each), `prepare.py` with `tokenizer.py` and `names.py`
(files to tokens) and `batches.py` (tokens to rows). The model is transformers' own (`story_model.py`);
`fast_layers.py`, `delta_rule.py` and `loss.py` compute it faster, with two small C++ files that are compiled when
they are first used. `train.py` is the loop, `optimizers.py` its rates, `state.py` what it resumes from,
`evaluation.py` what it is judged by; `export.py`, `model_card.py` and `sample.py` make the folder.

To train longer, give a resumed run more minutes. When the state is lost, the weights still serve to begin with:
`prepare STORIES --tokenizer models/story/tokenizer.json`, then `train --warm-start models/story`.
"""
