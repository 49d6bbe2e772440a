"""Parts of all benchmarks: logs of finished tasks, pages of results, tests of significance, the index."""
