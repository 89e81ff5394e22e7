"""Studies: what the templates of one paper's experiments share."""
