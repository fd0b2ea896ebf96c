"""FITS IN. Other frameworks' protocols over the same operations; each loads its own framework."""
