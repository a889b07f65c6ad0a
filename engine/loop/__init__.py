"""Who runs when: requests, the scheduler, the runner, the sampler, and the engine's step."""
