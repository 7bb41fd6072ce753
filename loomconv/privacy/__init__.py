"""What must not leave the machine unasked: keys and passwords, prompts, raw responses (OL2-9-excludable, A43)."""

from loomconv.privacy.secrets import drop_secrets
from loomconv.privacy.withhold import PARTS, Withholder, contained_parts

__all__ = ["PARTS", "Withholder", "contained_parts", "drop_secrets"]
