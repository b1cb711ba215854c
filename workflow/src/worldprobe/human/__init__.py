"""Human ratings."""
