"""What this computer gives: folders that nobody else can write to."""
