"""petra.expr."""
