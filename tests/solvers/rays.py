"""An executor over Ray, as shown in docs/how-to/workers.md."""

from concurrent.futures import Executor

import ray


class RayExecutor(Executor):
    """Submits calls as Ray tasks."""

    def submit(self, function, /, *args, **options):
        task = ray.remote(function).remote(*args, **options)
        return task.future()  # a standard future; the executor needs no shutdown: Ray goes on
