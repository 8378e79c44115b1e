"""The distribution's one package: the tree of the repository is below it."""
