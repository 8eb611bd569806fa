"""AI batches on the engine: ask models, within limits and budgets, and validate what they say."""

from dure.ai.budget import Budget
from dure.ai.classify import classify
from dure.ai.compatible import OpenAICompatible
from dure.ai.desk import Desk, Reply
from dure.ai.local.provider import Local
from dure.ai.price import Price
from dure.ai.prompt import Prompt
from dure.ai.provider import Answer, Provider, Question, Usage
from dure.ai.stop import AiError, Refused, Rejected, Suspended, Throttled, Transient
from dure.ai.verdict import Disposition, Reason, Scope, Verdict

__all__ = [
    "AiError",
    "Answer",
    "Budget",
    "Desk",
    "Disposition",
    "Local",
    "OpenAICompatible",
    "Price",
    "Prompt",
    "Provider",
    "Question",
    "Reason",
    "Refused",
    "Rejected",
    "Reply",
    "Scope",
    "Suspended",
    "Throttled",
    "Transient",
    "Usage",
    "Verdict",
    "classify",
]
