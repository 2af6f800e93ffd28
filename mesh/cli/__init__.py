"""The `roommesh` command: one module per noun, all of it through the SDK.

`main` finds the module of a command when it is called, so that `roommesh version` need not import a
node. `terminal` is the only place that prints; `visible` makes strangers' text safe to look at.
"""
