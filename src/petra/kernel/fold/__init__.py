"""The fold, chapter by chapter: what each kind of event does to the state."""
