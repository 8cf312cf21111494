"""Models of a few thousand random weights, made by the tests, of the real classes of transformers and diffusers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = "ABCD"


def tiny_tokenizer() -> Any:
    """A token a byte."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {token: number for number, token in enumerate(["<pad>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>")  # noqa: S106


def tiny_llama(folder: Path, *, seed: int = 0, width: int = 32, layers: int = 2) -> Path:
    """A causal language model whose likeliest tokens are the letters A to D, by the prompt."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny_tokenizer()
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=2048,
            initializer_range=0.5,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    with torch.no_grad():
        others = torch.ones(len(tokenizer), dtype=torch.bool)
        others[tokenizer.convert_tokens_to_ids(list(LETTERS))] = False
        model.lm_head.weight[others] = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_pipeline(folder: Path) -> Path:
    """A Stable Diffusion pipeline of 32 by 32 pixels, with the scheduler that holds the state of a call."""
    import torch
    from diffusers import AutoencoderKL, PNDMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    parts = folder / "words"
    parts.mkdir(parents=True)
    letters = [chr(number) for number in range(33, 127)]
    words = [*letters, *(f"{each}</w>" for each in letters), "<|startoftext|>", "<|endoftext|>"]
    (parts / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (parts / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer.from_pretrained(str(parts), model_max_length=77)
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            bos_token_id=len(words) - 2,
            eos_token_id=len(words) - 1,
            pad_token_id=len(words) - 1,
        )
    )
    unet = UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(16, 32),
        layers_per_block=1,
        norm_num_groups=4,
        cross_attention_dim=16,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    vae = AutoencoderKL(
        block_out_channels=(16, 16),
        norm_num_groups=4,
        latent_channels=4,
        sample_size=32,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
    )
    pipeline = StableDiffusionPipeline(
        vae=vae,
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=PNDMScheduler(skip_prk_steps=True, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder / "pipeline")
    return folder / "pipeline"
