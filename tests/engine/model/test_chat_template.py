"""Messages become the prompt that transformers makes of them with the same folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tokenizers import AddedToken
from tokenizers import Tokenizer as FastTokenizer
from transformers import AutoTokenizer

from engine.model.chat_template import ChatTemplate, ChatTemplateError
from engine.model.config import CheckpointError
from engine.model.tokenizer import Tokenizer

CHATML = """\
{%- for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>' }}
{% endfor %}
{% if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

TEMPLATES = {
    "chatml": CHATML,
    "special tokens by name": "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}",
    "a namespace, found backwards, and a loop that breaks": """\
{% set last = namespace(index=-1) %}
{% for m in messages[::-1] %}
  {% if m.role == 'user' %}{% set last.index = messages | length - 1 - loop.index0 %}{% break %}{% endif %}
{% endfor %}
{% for m in messages %}
  {%- if loop.index0 == last.index %}>>{% endif %}{{ m.content }}
{% endfor %}""",
    "plain JSON": "{{ messages | tojson }}{{ messages[0] | tojson(indent=2) }}",
    "what is not there": "{{ tools is none }} {{ documents is none }} {{ sep_token is defined }}",
    "marks for training": "{% for m in messages %}{% generation %}\n  {{ m.content }}{% endgeneration %}\n{% endfor %}",
    "a name of its own": "{{ 'think' if enable_thinking else 'answer' }}: {{ messages[-1].content }}",
}

BOS = {"__type": "AddedToken", "content": "<s>", "lstrip": False, "rstrip": False, "normalized": False, "special": True}

CHATS = [
    [{"role": "user", "content": "Once upon a time"}],
    [
        {"role": "system", "content": " You tell stories.\n"},
        {"role": "user", "content": "A <dog> & 'a' \"cat\" {{ 1 + 1 }} é 🦖"},
        {"role": "assistant", "content": "They ran."},
        {"role": "user", "content": "And then?\n\n"},
    ],
]


def chat_folder(folder: Path, story: Path, template: str | list | None, **tokens: object) -> Path:
    """The bundled tokenizer with two more special tokens and a chat template in its config."""
    folder.mkdir(parents=True, exist_ok=True)
    fast = FastTokenizer.from_file(str(story / "tokenizer.json"))
    fast.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True)])
    fast.save(str(folder / "tokenizer.json"))
    for name in ("config.json", "generation_config.json"):
        shutil.copyfile(story / name, folder / name)
    config = json.loads((story / "tokenizer_config.json").read_text(encoding="utf-8"))
    config |= {"eos_token": "<|im_end|>", **tokens} | ({} if template is None else {"chat_template": template})
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def rendered_by_both(folder: Path, chat: list[dict], **options: object) -> tuple[str, str]:
    theirs = AutoTokenizer.from_pretrained(folder)
    template = Tokenizer(folder).chat_template
    expected = theirs.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, **options)
    return template.render(chat, options), expected


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_chat_is_rendered_as_transformers_renders_it(tmp_path, story_folder, name):
    folder = chat_folder(tmp_path, story_folder, TEMPLATES[name], bos_token=BOS)
    for chat in CHATS:
        ours, theirs = rendered_by_both(folder, chat)
        assert ours == theirs and ours
    ours, theirs = rendered_by_both(folder, CHATS[0], enable_thinking=True)
    assert ours == theirs


def test_special_tokens_in_a_chat_are_one_token_each_and_the_ids_are_those_of_transformers(tmp_path, story_folder):
    folder = chat_folder(tmp_path, story_folder, CHATML)
    tokenizer = Tokenizer(folder)
    theirs = AutoTokenizer.from_pretrained(folder)
    for chat in CHATS:
        ids = tokenizer.encode(tokenizer.chat_template.render(chat))
        assert ids == theirs.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        texts = [tokenizer.token(i).text for i in ids]
        assert texts.count("<|im_start|>") == len(chat) + 1 and texts.count("<|im_end|>") == len(chat)


def test_the_token_that_ends_a_turn_ends_a_reply_even_if_only_the_tokenizer_names_it(tmp_path, story_folder):
    tokenizer = Tokenizer(chat_folder(tmp_path / "chat", story_folder, CHATML))
    assert {tokenizer.token(i).text for i in tokenizer.eos_ids} == {"<|endoftext|>", "<|im_end|>"}
    plain = Tokenizer(chat_folder(tmp_path / "plain", story_folder, None))
    assert plain.chat_template is None
    assert {plain.token(i).text for i in plain.eos_ids} == {"<|endoftext|>"}


def test_a_template_in_a_file_of_its_own_goes_before_the_config_s(tmp_path, story_folder):
    folder = chat_folder(tmp_path, story_folder, "from the config")
    (folder / "chat_template.jinja").write_text("from the file: {{ messages[0].content }}\n", encoding="utf-8")
    ours, theirs = rendered_by_both(folder, CHATS[0])
    assert ours == theirs == "from the file: Once upon a time"


def test_of_several_named_templates_the_default_is_taken(tmp_path, story_folder):
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    ours, theirs = rendered_by_both(chat_folder(tmp_path, story_folder, named), CHATS[0])
    assert ours == theirs == "plain"


def test_the_date_is_today_s_as_for_transformers(tmp_path, story_folder):
    folder = chat_folder(tmp_path, story_folder, "{{ strftime_now('%Y %j') }}{{ strftime_now is defined }}")
    ours, theirs = rendered_by_both(folder, CHATS[0])
    assert ours == theirs


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('Roles must alternate.') }}", "Roles must alternate"),
        ("{{ messages[0].content + 1 }}", "TypeError"),
        ("{{ nothing.at.all }}", "undefined"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
    ],
)
def test_a_template_that_refuses_or_fails_says_why_and_gets_nowhere_outside(source, words):
    with pytest.raises(ChatTemplateError, match=words):
        ChatTemplate(source, {}).render(CHATS[0])


def test_messages_cannot_be_replaced_by_an_option():
    assert ChatTemplate("{{ messages[0].content }}", {}).render(CHATS[0], {"messages": "x"}) == "Once upon a time"


def test_a_template_that_cannot_be_read_is_said_when_the_model_is_loaded(tmp_path, story_folder):
    with pytest.raises(CheckpointError, match=r"tokenizer_config.json: line 2 of the chat template"):
        Tokenizer(chat_folder(tmp_path / "a", story_folder, "one\n{% for %}"))
    with pytest.raises(CheckpointError, match="chat_template is not text"):
        Tokenizer(chat_folder(tmp_path / "b", story_folder, 7))
    folder = chat_folder(tmp_path / "c", story_folder, None)
    (folder / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(CheckpointError, match=r"chat_template.jinja cannot be read"):
        Tokenizer(folder)
