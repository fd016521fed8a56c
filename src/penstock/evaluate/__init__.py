"""What a placement is worth: rates, capacity, network, bound. One cost model for everybody."""
