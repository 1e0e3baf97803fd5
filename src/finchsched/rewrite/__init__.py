"""The rewrite engine: rules and strategies."""

from finchsched.rewrite.engine import Chain, Fixpoint, Memo, PostWalk, Prestep, PreWalk, Rewrite, rewrite
from finchsched.rewrite.rule import Firing, Rule, RuleContext, rule

__all__ = [
    "Chain",
    "Firing",
    "Fixpoint",
    "Memo",
    "PostWalk",
    "PreWalk",
    "Prestep",
    "Rewrite",
    "Rule",
    "RuleContext",
    "rewrite",
    "rule",
]
