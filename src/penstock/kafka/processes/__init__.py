"""Java processes that Penstock starts: their folders and the parent that ends them."""
