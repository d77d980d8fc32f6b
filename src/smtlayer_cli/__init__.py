"""The command line of smtlayer, which imports torch and smtlayer only when a command needs them.

It is not part of the package `smtlayer`, because importing that imports torch.
"""
