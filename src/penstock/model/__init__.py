"""The nouns: topology, cluster, profile, problem, outcome, plan. numpy only, no I/O."""
