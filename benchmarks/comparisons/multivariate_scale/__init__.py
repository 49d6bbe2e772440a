"""FSmulti on a sparse set with a million features."""
