"""A language model of one layer with random weights, as a folder that `transformers serve` reads.

python -m tests.metrics.judge.tiny_model FOLDER
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
TOKENS = "0123456789abcdefghij"  # what the model answers with; half of them are digits
SEED = 0


def save_tiny_model(folder: Path) -> None:
    """Save model and tokenizer.

    The tokenizer has a token for each byte, and merges from one sentence. The model can only answer
    with `TOKENS`, so that about half of its answers begin with a number.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator(["Caption: a man rides a horse. The man wears a hat."], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        initializer_range=0.5,
    )
    model = LlamaForCausalLM(config)
    used = tokenizer.convert_tokens_to_ids(list(TOKENS))
    with torch.no_grad():
        others = torch.ones(len(tokenizer), dtype=torch.bool)
        others[used] = False
        model.lm_head.weight[others] = 0
    model.save_pretrained(folder)


if __name__ == "__main__":
    save_tiny_model(Path(sys.argv[1]))
