"""What each part and each constant of the ``penstock`` scheduler is worth: switched off, varied."""
