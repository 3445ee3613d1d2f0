"""The public face of tenure: every public name, and nothing else."""

__all__: list[str] = []
