"""``penstock bench control``: policies on recorded loads, peers against published figures."""
