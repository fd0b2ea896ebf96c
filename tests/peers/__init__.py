"""Other projects' own tests of the protocols that our adapters speak, run against our adapters."""
