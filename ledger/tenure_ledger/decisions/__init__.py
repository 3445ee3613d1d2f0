"""Pure decisions, one file a subject, and the one function that finds the right one."""
