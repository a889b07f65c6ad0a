"""Several engines behind one address: Ray Serve routes, checks health and replaces; here is what a run needs of it.

    front (one): the engine server's own routes, over `ClusterEngine`, which has an engine's face and computes nothing
    pools: "engines", or "prefill" and "decode", each some replicas with an `Engine` each

    a run:  front --Ask--> a replica --News, News, ...--> front, which writes the one log that everybody reads

Only `replica` imports an engine that computes. Ray is imported there, and elsewhere only in functions that a cluster
calls; everything that decides what happens to a run (`relay`, `journal`, `share`) does without it.
"""
