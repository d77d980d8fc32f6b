"""Worker processes and executors that answer rows in parallel."""
