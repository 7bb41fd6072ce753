"""Speed and memory of loomconv as ratios to a floor that is measured in the same run; see README.md."""
