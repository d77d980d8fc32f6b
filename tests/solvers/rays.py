"""An executor over Ray, as shown in docs/how-to/workers.md."""

from concurrent.futures import Executor


class RayExecutor(Executor):
    """Submits calls as Ray tasks."""

    def submit(self, function, /, *args, **options):
        import ray  # not everybody has it, and pytest looks into this file

        task = ray.remote(function).remote(*args, **options)
        return task.future()  # a standard future; the executor needs no shutdown: Ray goes on
