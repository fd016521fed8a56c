"""``penstock`` under terms: a rate at the least cost, few moves, little traffic."""
