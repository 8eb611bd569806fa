"""A news site, a shop and an AI provider on this machine, with faults that can be switched on."""

from dure_sandbox.ai.quota import Limits
from dure_sandbox.ai.site import AiOptions
from dure_sandbox.faults.fault import Fault
from dure_sandbox.log import Entry
from dure_sandbox.news.site import NewsOptions
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

__all__ = ["AiOptions", "Entry", "Fault", "Limits", "NewsOptions", "Sandbox", "ShopOptions"]
