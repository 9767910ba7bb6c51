"""The public kit for testing: random playbooks whose soundness is known, and logs held against their net."""
