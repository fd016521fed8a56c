"""``penstock watch`` on real engines: loads that step, machines that are lost, watchers killed."""
