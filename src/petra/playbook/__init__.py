"""petra.playbook."""
