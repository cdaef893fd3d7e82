"""The LoRA recipe on a tiny model: it learns the answer, and only the answer."""

import json

import pytest

pytest.importorskip("peft", reason="needs the extra [lora]")

from scripts import lora

WORDS = "is this personal ? T F yes no name of a student author".split()
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }} [end] {% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["[unk]", "[end]", "[system]", "[user]", "[assistant]", *dict.fromkeys(WORDS)]
    vocabulary = {word: i for i, word in enumerate(words)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[unk]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[unk]", eos_token="[end]", chat_template=TEMPLATE
    )
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    path = tmp_path_factory.mktemp("tiny")
    LlamaForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [("is this name of a student ?", "T"), ("is this name of a author ?", "F")] * 6
    chats = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]}
        for q, a in rows
    ]
    path.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    return path


@pytest.mark.filterwarnings("ignore")
def test_an_adapter_is_trained_and_saved(command, tiny, data, tmp_path):
    out = tmp_path / "adapter"
    done = command(
        lora.main,
        data,
        "--model",
        tiny,
        "--out",
        out,
        "--epochs",
        "40",
        "--batch",
        "4",
        "--rate",
        "0.05",
        "--debug",
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["examples"] == 12 and told["losses"][-1] < 0.8 * told["losses"][0]
    assert (out / "adapter_model.safetensors").is_file() and json.loads(
        (out / "training.json").read_text()
    ) == told
    assert (
        command(lora.main, data, "--model", tiny, "--out", out).exit_code == 2
    )  # nothing is written over


def test_only_the_last_answer_is_learnt(tiny):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    chat = [{"role": "user", "content": "is this a name ?"}, {"role": "assistant", "content": "T"}]
    ids, labels = lora.encode(chat, tokenizer)
    learnt = [i for i, label in zip(ids, labels, strict=True) if label != lora.IGNORED]
    assert tokenizer.convert_ids_to_tokens(learnt) == ["T", "[end]"]


def test_a_model_or_data_that_is_not_there_is_refused(command, data, tmp_path):
    assert "E917" in command(lora.main, data, "--model", tmp_path, "--out", tmp_path / "x").output
    data.write_text("{}\n")
    assert "E940" in command(lora.main, data, "--model", tmp_path, "--out", tmp_path / "x").output
