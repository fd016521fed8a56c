"""Apache Storm: what runs there now, and plans put in force."""
