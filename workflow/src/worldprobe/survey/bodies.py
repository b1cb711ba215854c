"""What pages may send: closed schemas, nothing converted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(max_length=60)]


def _need(is_given: bool) -> bool:
    if not is_given:
        raise ValueError("not given")
    return is_given


#: true, and nothing that equals it, such as 1.
Yes = Annotated[bool, AfterValidator(_need)]


class Body(BaseModel):
    """A JSON object with exactly these keys."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ConsentBody(Body):
    """The tick and the button of the consent page."""

    agree: Yes


class EmptyBody(Body):
    """Nothing but the wish."""


class WithdrawBody(Body):
    """The button of the withdrawal page."""

    sure: Yes


class DemographicsBody(Body):
    """Answers about the person; null: preferred not to say."""

    age: Annotated[int, Field(ge=0, le=1000)] | None = None
    gender: Literal["woman", "man", "non-binary", "other"] | None = None
    country: Text | None = None
    language: Text | None = None


class AnswerBody(Body):
    """One answer."""

    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
    answer: Annotated[int, Field(ge=1, le=5)]
    rt_ms: Annotated[int, Field(ge=0, le=86_400_000)]
    n_blurs: Annotated[int, Field(ge=0, le=1_000_000)]
