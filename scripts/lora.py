"""Fine-tune a local chat model with LoRA on a file of `pii-edu llm export`: on a GPU where there is one, and on a tiny model in tests.

    python -m scripts.lora train.jsonl --model path/of/a/chat/model --out training/lora

Learns the assistant's words only, with the paper's 2 epochs (JEDM, section 3.2); rank, rate and dropout are those of the LoRA paper's
smallest recipe (Hu et al. 2021). Nothing is downloaded: the model is a folder in the form of transformers. The adapter, its settings and the
training log lie in --out; a llama.cpp server, vLLM or `merge_and_unload` then serves it to pii_edu.OpenAICompatible.v1.
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.llm.finetune import check_file
from scripts import common

IGNORED = -100  # what a loss of transformers passes over


def main(
    data: Annotated[Path, typer.Argument(help="JSON Lines with messages.")],
    *,
    model: Annotated[
        Path, typer.Option(help="Folder of a causal language model with a chat template.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the adapter.")],
    epochs: Annotated[int, typer.Option(min=1)] = 2,
    batch: Annotated[int, typer.Option(min=1, help="Examples before a step of the optimiser.")] = 8,
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 2e-4,
    rank: Annotated[int, typer.Option(min=1, help="Of the adapter.")] = 8,
    length: Annotated[
        int,
        typer.Option(
            min=16, help="Tokens of an example at most; a longer one is passed over, and counted."
        ),
    ] = 4096,
    seed: common.SeedOpt = 46,
    debug: common.DebugOpt = False,
) -> None:
    """Train, and print what was learnt."""
    with guard(debug):
        check_file(data)
        if not (model / "config.json").is_file():
            raise PiiError(Errors.E917, file=model.name)
        if out.exists() and any(out.iterdir()):
            raise PiiError(Errors.E510, what=f"'{out}'")
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        lines = data.read_text("utf8").splitlines()
        print(
            json.dumps(
                train(
                    [json.loads(line)["messages"] for line in lines],
                    model,
                    out,
                    epochs,
                    batch,
                    rate,
                    rank,
                    length,
                    seed,
                )
            )
        )


def encode(messages: list[dict[str, str]], tokenizer: Any) -> tuple[list[int], list[int]]:
    """RETURNS (tuple): Token ids of a chat, and the same with IGNORED where nothing is to be learnt: before the last answer."""
    asked = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True)
    whole = tokenizer.apply_chat_template(messages)
    return whole, [IGNORED] * len(asked) + whole[len(asked) :]


def train(
    chats: list[list[dict[str, str]]],
    model: Path,
    out: Path,
    epochs: int,
    batch: int,
    rate: float,
    rank: int,
    length: int,
    seed: int,
) -> dict[str, Any]:
    """Train an adapter and save it with its tokenizer. RETURNS (dict): Examples, those passed over, and the mean loss of each epoch."""
    try:
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as err:
        raise PiiError(Errors.E005, package=str(err.name), what="LoRA", extra="lora") from err
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    base = AutoModelForCausalLM.from_pretrained(model, local_files_only=True, torch_dtype=dtype).to(
        device
    )
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.05,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    net = get_peft_model(base, config)
    examples = [encode(messages, tokenizer) for messages in chats]
    kept = [(ids, labels) for ids, labels in examples if len(ids) <= length]
    weights = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=rate)
    order, losses = torch.Generator().manual_seed(seed), []
    net.train()
    for _ in range(epochs):
        total = 0.0
        places = torch.randperm(len(kept), generator=order).tolist()
        for at in range(0, len(places), batch):
            some = places[at : at + batch]
            for i in some:
                ids, labels = (torch.tensor([values], device=device) for values in kept[i])
                loss = net(input_ids=ids, labels=labels).loss
                (loss / len(some)).backward()
                total += loss.item()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(round(total / max(len(kept), 1), 4))
    net.save_pretrained(out)
    tokenizer.save_pretrained(out)
    report = {
        "examples": len(kept),
        "passed_over": len(examples) - len(kept),
        "device": device,
        "losses": losses,
    }
    (out / "training.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return report


if __name__ == "__main__":
    typer.run(main)
