"""What lists of features are worth: arrays in, numbers out."""
