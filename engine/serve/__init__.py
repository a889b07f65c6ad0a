"""Who may ask: the engine server, its client, and the process that keeps it alive."""
