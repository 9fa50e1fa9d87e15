"""Programs that play at a seat from outside. Each file stands alone and may be copied away."""
