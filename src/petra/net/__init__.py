"""petra.net."""
