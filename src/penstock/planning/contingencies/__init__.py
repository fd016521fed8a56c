"""What becomes of a plan when a machine is lost, whichever scheduler made it."""
