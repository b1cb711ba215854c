"""The settings of a training, which a study or a settings file states, and where a study's control
models are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from worldprobe.settings.blocks import Block, Count, Finding, PartialShare, Seed, Text, Whole
from worldprobe.settings.registry import Control

Threads = Annotated[int, Field(ge=1, le=4096)]


class ScratchSettings(Control):
    """How a small model is built and trained from scratch."""

    seed: Seed = 0
    """Seed of the weights and of the order of documents."""

    threads: Threads = 1
    """Number of CPU threads, on which the weights depend."""

    positions: Annotated[int, Field(ge=8)] = 1024
    """Longest sequence, in tokens; enough for the longest prompt with examples."""


class TrainingSettings(Block):
    """How models are fine-tuned; the defaults are the paper's where it states them (WorldSense,
    Section 5.4, footnote 8).
    """

    chat: Literal["always", "auto", "never"] = "always"
    """Whether lessons go through the chat template; auto does where there is one."""

    loss: Literal["answer", "all"] = "answer"
    """Tokens that count: those of the answer, or all."""

    order: Literal["shuffled", "given"] = "shuffled"
    """Order of lessons: shuffled anew in each pass, or as given."""

    group_by_length: bool = False
    """Whether lessons of like length share a step, which leaves fewer places empty."""

    share: PartialShare = 0
    """Share of the lessons seen that come from the files of `mix`."""

    steps: Count | None = None
    """Number of optimiser steps; null follows from epochs."""

    epochs: Count = 2
    """Number of passes over the training files, where `steps` is null. Paper: Section 5.4."""

    learning_rate: Annotated[float, Field(gt=0, le=100)] = 2e-6
    """Peak of the learning rate. Paper: Section 5.4."""

    batch: Count = 64
    """Number of lessons per step. Paper: Section 5.4."""

    per_pass: Count | None = None
    """Number of lessons that a process computes at once; null follows from their length."""

    warm_up: Whole | None = None
    """Number of steps in which the learning rate rises; null is the paper's share, 1 % of all.
    Paper: Section 5.4.
    """

    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls. Paper: Section 5.4."""

    sequence_length: Annotated[int, Field(ge=8)] = 4096
    """Most tokens of a lesson and of a row. Paper: Section 5.4."""

    weight_decay: Annotated[float, Field(ge=0, le=10)] = 0
    """Weight decay."""

    beta_2: PartialShare = 0.999
    """AdamW's second beta."""

    clip: Annotated[float, Field(ge=0)] = 1
    """Largest norm of the gradient; 0 is no limit."""

    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Precision of activations; auto takes bfloat16 on GPUs that have it, otherwise float32."""

    packing: bool = True
    """Whether several short lessons share a row."""

    gradient_checkpointing: bool = False
    """Whether activations are computed twice to save memory."""

    tuning: Literal["auto", "full", "lora"] = "auto"
    """What is trained: all weights (full), LoRA's alone (lora), or by size (auto)."""

    full_up_to: Whole = 3_000_000_000
    """Number of parameters up to which auto trains all weights."""

    lora_rank: Annotated[int, Field(ge=1, le=4096)] = 16
    """Rank of LoRA's matrices."""

    lora_alpha: Count = 32
    """Weight of LoRA's matrices."""

    lora_dropout: PartialShare = 0
    """Dropout before LoRA's matrices."""

    lora_targets: Text = "all-linear"
    """Comma-separated modules that get LoRA's matrices; all-linear takes all linear ones."""

    seed: Seed = 0
    """Seed of the order of lessons, of dropout and of LoRA's matrices."""

    threads: Threads = 1
    """Number of CPU threads, on which the weights depend."""

    checkpoint_every: Count | None = None
    """Number of steps between checkpoints; null makes 20 in all."""

    allow_contamination: bool = False
    """Whether to train on test items that training files contain; the model's card names them."""

    def findings(self) -> Iterator[Finding]:
        """A learning rate that never reaches its peak."""
        if self.steps is not None and self.warm_up is not None and self.warm_up >= self.steps:
            problem = (
                f"the rate would never reach its peak: there are {self.steps} steps, and it rises"
                f" for {self.warm_up}."
            )
            yield ("warm_up",), problem, "Take fewer steps of warm_up, or more steps."


class Tuning(TrainingSettings):
    """Settings of a training with everything decided."""

    steps: Count
    warm_up: Whole = 0
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    tuning: Literal["full", "lora"] = "full"

    def described(self) -> dict[str, Any]:
        """All that can change the weights, as plain values; what belongs to LoRA only where it is
        used.
        """
        others = {
            "chat",
            "epochs",
            "full_up_to",
            "checkpoint_every",
            "allow_contamination",
            "tuning",
        }
        facts: dict[str, Any] = {"method": self.tuning}
        for key, field in Tuning.model_fields.items():
            if key not in others and (self.tuning == "lora" or not key.startswith("lora_")):
                value = getattr(self, key)
                facts[key] = float(value) if field.annotation is float else value
        return facts
